// Training steps of an image classifier on one batch that it is given, over and over; prints one JSON object. The peer
// is bench/peers/vit.py.
#include <ATen/ATen.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/kernels/memory.h"
#include "engine/model/load_image_classifier.h"
#include "engine/model/safetensors.h"
#include "engine/optim/optimizer.h"

namespace assay::engine {
namespace {

struct Options {
  std::string model_dir;
  std::string batch_file;
  std::string mode = "amp";
  int64_t batch = 8;
  int64_t steps = 5;
  bool gradient_checkpointing = false;
};

ImageClassifierOptions precision(const std::string& mode) {
  static const std::map<std::string, std::pair<at::ScalarType, at::ScalarType>> modes = {
      {"fp32", {at::kFloat, at::kFloat}},
      {"amp", {at::kFloat, at::kBFloat16}},
      {"bf16", {at::kBFloat16, at::kBFloat16}}};
  const auto& [dtype, compute] = modes.at(mode);
  return {.dtype = dtype, .compute_dtype = compute};
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of all threads of this process.
double cpu_seconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double grad_norm(const std::vector<NamedTensor>& parameters) {
  std::vector<at::Tensor> gradients;
  for (const auto& [name, parameter] : parameters) {
    gradients.push_back(parameter.grad());
  }
  return gradient_norm(gradient_stats(gradients));
}

nlohmann::json run(const Options& options) {
  const LoadedImageClassifier loaded = load_image_classifier(options.model_dir, precision(options.mode));
  Vit& model = *loaded.model;
  model.set_checkpointed_layers(options.gradient_checkpointing ? model.config().num_layers : 0);
  const SafetensorsFile file = SafetensorsFile::open(options.batch_file);
  const at::Tensor pixels = file.tensor(*file.find("pixels")).narrow(0, 0, options.batch);
  const at::Tensor labels = file.tensor(*file.find("labels")).narrow(0, 0, options.batch);
  const auto parameters = model.parameters();
  const auto optimizer = make_optimizer("adamw_torch", parameters, OptimizerOptions{});
  nlohmann::json step_seconds = nlohmann::json::array();
  nlohmann::json cpu_seconds = nlohmann::json::array();
  nlohmann::json losses = nlohmann::json::array();
  double first_grad_norm = 0;
  for (int64_t step = 0; step < options.steps; ++step) {
    const double start = seconds_now();
    const double cpu_start = cpu_seconds_now();
    const at::Tensor loss = model.loss(pixels, labels);
    loss.backward();
    if (step == 0) {  // which is not measured
      first_grad_norm = grad_norm(parameters);
    }
    optimizer->step(5e-5, GradientRule{});
    for (const auto& [name, parameter] : parameters) {
      parameter.mutable_grad().reset();
    }
    step_seconds.push_back(seconds_now() - start);
    cpu_seconds.push_back(cpu_seconds_now() - cpu_start);
    losses.push_back(loss.item<double>());
  }
  return {{"step_seconds", step_seconds},
          {"cpu_seconds", cpu_seconds},
          {"losses", losses},
          {"first_grad_norm", first_grad_norm},
          {"peak_tensor_bytes", PeakTensorBytes()},
          {"forward_flops_per_image", model.forward_flops()}};
}

}  // namespace
}  // namespace assay::engine

int main(int argc, char** argv) {
  CLI::App app("training steps of an image classifier");
  assay::engine::Options options;
  app.add_option("--model", options.model_dir)->required();
  app.add_option("--data", options.batch_file, "safetensors with pixels and labels")->required();
  app.add_option("--mode", options.mode)->check(CLI::IsMember({"fp32", "amp", "bf16"}));
  app.add_option("--batch", options.batch)->check(CLI::PositiveNumber);
  app.add_option("--steps", options.steps)->check(CLI::PositiveNumber);
  app.add_flag("--gradient-checkpointing", options.gradient_checkpointing);
  CLI11_PARSE(app, argc, argv);
  assay::engine::InstallCountingAllocator();
  try {
    std::puts(assay::engine::run(options).dump().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_vit_step: %s\n", error.what());
    return 1;
  }
  return 0;
}
