// Runs an image classifier on given pixels and writes what came out, for comparison with transformers.
//
//   vit_probe --model DIR --batch batch.safetensors --out result.safetensors [options]
//
// `batch.safetensors` holds `pixels` [B, C, H, W] and `labels` [B]. The result has `logits`, `loss`, for every
// parameter `grad.<name>` and `param.<name>`, and with --steps the `losses` of that many updates of AdamW on the same
// batch. Standard output tells what the loader says of the weights.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/model/load_image_classifier.h"
#include "engine/model/safetensors.h"
#include "engine/model/status_error.h"
#include "engine/optim/optimizer.h"

namespace assay::engine {
namespace {

struct Options {
  std::string model_dir;
  std::string batch_file;
  std::string out_file;
  std::string dtype = "float32";
  std::string compute_dtype;
  std::string save_model_dir;
  std::vector<std::string> labels;
  int64_t checkpointed_layers = 0;
  int64_t steps = 0;
  double learning_rate = 1e-3;
  uint64_t seed = 1;
};

at::ScalarType parse_dtype(const std::string& name) {
  static const std::map<std::string, at::ScalarType> dtypes = {
      {"float32", at::kFloat}, {"bfloat16", at::kBFloat16}, {"float16", at::kHalf}};
  return dtypes.at(name);
}

struct Batch {
  at::Tensor pixels;
  at::Tensor labels;
};

Batch read_batch(const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::open(path);
  return {file.tensor(*file.find("pixels")), file.tensor(*file.find("labels"))};
}

std::vector<NamedTensor> results(ImageClassifier& model, const Batch& batch) {
  std::vector<NamedTensor> out;
  {
    const at::NoGradGuard no_grad;
    out.emplace_back("logits", model.logits(batch.pixels));
  }
  const at::Tensor loss = model.loss(batch.pixels, batch.labels);
  loss.backward();
  out.emplace_back("loss", loss.detach());
  for (const auto& [name, parameter] : model.parameters()) {
    out.emplace_back("param." + name, parameter.detach().clone());
    out.emplace_back("grad." + name, parameter.grad().clone());
    parameter.mutable_grad().reset();
  }
  return out;
}

at::Tensor train(ImageClassifier& model, const Batch& batch, const Options& options) {
  const auto optimizer = make_optimizer("adamw_torch", model.parameters(), OptimizerOptions{});
  std::vector<double> losses;
  for (int64_t step = 0; step < options.steps; ++step) {
    const at::Tensor loss = model.loss(batch.pixels, batch.labels);
    loss.backward();
    optimizer->step(options.learning_rate, GradientRule{});
    for (const auto& [name, parameter] : model.parameters()) {
      parameter.mutable_grad().reset();
    }
    losses.push_back(loss.item<double>());
  }
  return at::tensor(losses, at::kDouble);
}

void run(const Options& options) {
  ImageClassifierOptions load{
      .dtype = parse_dtype(options.dtype),
      .compute_dtype = parse_dtype(options.compute_dtype.empty() ? options.dtype : options.compute_dtype),
      .seed = options.seed,
      .labels = options.labels};
  const LoadedImageClassifier loaded = load_image_classifier(options.model_dir, load);
  loaded.model->set_checkpointed_layers(options.checkpointed_layers);
  if (!options.batch_file.empty()) {
    const Batch batch = read_batch(options.batch_file);
    std::vector<NamedTensor> out = results(*loaded.model, batch);
    if (options.steps > 0) {
      out.emplace_back("losses", train(*loaded.model, batch, options));
    }
    write_safetensors(options.out_file, out);
  }
  if (!options.save_model_dir.empty()) {
    save_image_classifier(*loaded.model, options.save_model_dir);
  }
  const nlohmann::json report = {{"random_weights", loaded.random_weights}, {"new_head", loaded.new_head}};
  std::puts(report.dump().c_str());
}

}  // namespace
}  // namespace assay::engine

int main(int argc, char** argv) {
  CLI::App app("image classifier probe");
  assay::engine::Options options;
  app.add_option("--model", options.model_dir)->required();
  app.add_option("--batch", options.batch_file);
  app.add_option("--out", options.out_file);
  const auto dtypes = CLI::IsMember({"float32", "bfloat16", "float16"});
  app.add_option("--dtype", options.dtype, "of the parameters")->check(dtypes);
  app.add_option("--compute-dtype", options.compute_dtype, "of the products; without it that of the parameters")
      ->check(dtypes);
  app.add_option("--save-model", options.save_model_dir);
  app.add_option("--labels", options.labels)->delimiter(',');
  app.add_option("--seed", options.seed, "of random weights");
  app.add_option("--checkpointed-layers", options.checkpointed_layers);
  app.add_option("--steps", options.steps, "updates of AdamW");
  app.add_option("--learning-rate", options.learning_rate);
  CLI11_PARSE(app, argc, argv);
  try {
    assay::engine::run(options);
  } catch (const assay::engine::StatusError& error) {
    std::fprintf(stderr, "vit_probe: %s\n", error.what());
    return assay::ExitCode(error.status());
  }
  return 0;
}
