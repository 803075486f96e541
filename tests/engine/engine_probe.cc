// Runs one forward and backward of a model and writes what came out, for comparison with transformers and peft.
//
//   engine_probe --model DIR --rows rows.jsonl --out result.safetensors [options]
//
// `rows.jsonl` holds one {"input_ids": [...], "labels": [...]} a line; all rows make one packed batch. The result has
// `logits` [T, V], `loss_sum`, `supervised` and, for every trainable parameter, `grad.<name>` and `param.<name>`.
#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "engine/adapter/lora.h"
#include "engine/adapter/trainable.h"
#include "engine/model/load.h"
#include "engine/model/random_normal.h"
#include "engine/model/safetensors.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

constexpr int64_t kMaskedLabel = -100;

struct Options {
  std::string model_dir;
  std::string rows_file;
  std::string out_file;
  std::string dtype = "float32";
  std::string device = "cpu";
  std::string save_model_dir;
  std::string save_adapter_dir;
  bool lora = false;
  int64_t checkpointed_layers = 0;
  bool training = false;
  uint64_t seed = 1;
  uint64_t generator_seed = 0;
  int64_t quantize_bits = 0;
  job::LoraOptions lora_options;
};

at::ScalarType parse_dtype(const std::string& name) {
  static const std::map<std::string, at::ScalarType> dtypes = {
      {"float32", at::kFloat}, {"bfloat16", at::kBFloat16}, {"float16", at::kHalf}};
  return dtypes.at(name);
}

/// The rows packed end to end, written plainly and apart from the trainer's own packing, which it thereby checks.
PackedBatch read_batch(const std::string& path, uint64_t generator_seed, at::Device device) {
  std::vector<int64_t> ids, positions, supervised, targets, keys;
  PackedBatch batch;
  batch.row_offsets.push_back(0);
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const auto row = nlohmann::json::parse(line);
    const auto row_ids = row.at("input_ids").get<std::vector<int64_t>>();
    const auto labels = row.at("labels").get<std::vector<int64_t>>();
    const int64_t start = batch.row_offsets.back();
    for (size_t i = 0; i < row_ids.size(); ++i) {
      ids.push_back(row_ids[i]);
      positions.push_back(static_cast<int64_t>(i));
      if (i + 1 < row_ids.size() && labels[i + 1] != kMaskedLabel) {
        supervised.push_back(start + static_cast<int64_t>(i));
        targets.push_back(labels[i + 1]);
      }
    }
    keys.resize(ids.size());
    fill_keys(std::span(keys).subspan(static_cast<size_t>(start)),
              stream_key(generator_seed, "row " + std::to_string(batch.rows())));
    batch.row_offsets.push_back(static_cast<int64_t>(ids.size()));
    batch.longest_row = std::max(batch.longest_row, static_cast<int64_t>(row_ids.size()));
  }
  batch.step_supervised = static_cast<int64_t>(supervised.size());
  batch.ids_T = at::tensor(ids, at::kLong).to(device);
  batch.positions_T = at::tensor(positions, at::kLong).to(device);
  batch.row_offsets_R1 = at::tensor(batch.row_offsets, at::kLong).to(at::kInt).to(device);
  batch.supervised_positions_S = at::tensor(supervised, at::kLong).to(device);
  batch.supervised_targets_S = at::tensor(targets, at::kLong).to(device);
  batch.draw_keys_T = at::tensor(keys, at::kLong).to(device);
  return batch;
}

std::vector<NamedTensor> results(CausalLM& model, const PackedBatch& batch) {
  std::vector<NamedTensor> out;
  {
    const at::NoGradGuard no_grad;
    out.emplace_back("logits", model.logits(batch));
  }
  const std::vector<NamedTensor> trainable = trainable_parameters(model);
  const auto supervised = static_cast<double>(batch.supervised());
  const at::Tensor loss_sum = model.loss_sum(batch, 1.0 / supervised);
  torch::autograd::backward({loss_sum / supervised}, {});
  out.emplace_back("loss_sum", loss_sum);
  out.emplace_back("supervised", at::tensor(batch.supervised(), at::kLong));
  for (const auto& [name, parameter] : trainable) {
    out.emplace_back("param." + name, parameter);
    out.emplace_back("grad." + name, parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter));
  }
  for (NamedTensor& result : out) {
    result.second = result.second.cpu();
  }
  return out;
}

void run(const Options& options) {
  bool random_weights = false;
  const at::Device device(options.device);
  const auto model = load_model(options.model_dir, parse_dtype(options.dtype), device, options.seed, random_weights, {},
                                {}, {}, {.bits = options.quantize_bits, .group_size = 32});
  LoraConfig adapter;
  if (options.lora || !options.lora_options.adapter_dir.empty()) {
    adapter = apply_lora(*model, options.lora_options, options.seed);
  }
  model->set_checkpointed_layers(options.checkpointed_layers);
  model->set_training(options.training);
  if (!options.rows_file.empty()) {
    const PackedBatch batch = read_batch(options.rows_file, options.generator_seed, device);
    write_safetensors(options.out_file, results(*model, batch));
  }
  if (!options.save_model_dir.empty()) {
    save_model(*model, options.save_model_dir);
  }
  if (!options.save_adapter_dir.empty()) {
    save_lora(*model, adapter, options.save_adapter_dir);
  }
  std::printf("{\"random_weights\": %s}\n", random_weights ? "true" : "false");
}

}  // namespace
}  // namespace assay::engine

int main(int argc, char** argv) {
  assay::engine::Options options;
  CLI::App app("Runs one forward and backward of a model and writes what came out.");
  app.add_option("--model", options.model_dir)->required();
  app.add_option("--rows", options.rows_file);
  app.add_option("--out", options.out_file);
  app.add_option("--dtype", options.dtype)->check(CLI::IsMember({"float32", "bfloat16", "float16"}));
  app.add_option("--device", options.device)->envname("ASSAY_TEST_DEVICE")->check(CLI::IsMember({"cpu", "cuda"}));
  app.add_option("--save-model", options.save_model_dir);
  app.add_option("--save-adapter", options.save_adapter_dir);
  app.add_option("--seed", options.seed, "of random weights and of A");
  app.add_option("--generator-seed", options.generator_seed, "of dropout");
  app.add_option("--checkpointed-layers", options.checkpointed_layers);
  app.add_option("--quantize-bits", options.quantize_bits);
  app.add_flag("--training", options.training, "dropout is active");
  app.add_flag("--lora", options.lora);
  app.add_option("--adapter", options.lora_options.adapter_dir);
  app.add_option("--rank", options.lora_options.rank);
  app.add_option("--alpha", options.lora_options.alpha);
  app.add_option("--dropout", options.lora_options.dropout);
  app.add_flag("--dora", options.lora_options.use_dora);
  app.add_flag("--rslora", options.lora_options.use_rslora);
  app.add_option("--target-modules", options.lora_options.target_modules)->delimiter(',');
  CLI11_PARSE(app, argc, argv);
  try {
    assay::engine::run(options);
  } catch (const assay::engine::StatusError& error) {
    std::fprintf(stderr, "engine_probe: %s\n", error.what());
    return assay::ExitCode(error.status());
  }
  return 0;
}
