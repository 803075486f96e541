#include "engine/model/weights.h"

#include <c10/core/ScalarType.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "engine/model/status_error.h"
#include "job/model_folder.h"

namespace assay::engine {
namespace {

[[noreturn]] void fail(std::string message) {
  throw StatusError(Status::InvalidArgument(std::move(message)));
}

/// weight_map of an index file: tensor name to shard file name.
std::map<std::string, std::string> read_index(const std::string& path) {
  const nlohmann::json index = value_or_throw(ReadJsonFile(path));
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (!index.is_object() || map == index.end() || !map->is_object() || map->empty()) {
    fail(fmt::format("{}: it has no weight_map", path));
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [name, shard] : map->items()) {
    // A shard stands beside its index; a path out of the folder would be an attack or a mistake.
    if (!shard.is_string() || shard.get<std::string>().find('/') != std::string::npos) {
      fail(fmt::format("{}: tensor '{}' is not mapped to a file name", path, name));
    }
    shard_of[name] = shard.get<std::string>();
  }
  return shard_of;
}

constexpr char kHead[] = "lm_head.weight";

}  // namespace

void Weights::add_shard(const std::string& path) {
  shards_.push_back(SafetensorsFile::open(path));
  for (const auto& [name, entry] : shards_.back().entries()) {
    if (!shard_of_.emplace(name, shards_.size() - 1).second) {
      fail(fmt::format("{}: tensor '{}' stands in {} as well", path, name, shards_[shard_of_[name]].path()));
    }
  }
}

std::optional<Weights> Weights::open(const std::string& model_dir, std::string_view base_prefix) {
  const std::string name = value_or_throw(job::FindWeights(model_dir));
  if (name.empty()) {
    return std::nullopt;
  }
  Weights weights;
  weights.base_prefix_ = base_prefix;
  weights.source_ = model_dir + "/" + name;
  if (name == job::kWeightsFile) {
    weights.add_shard(weights.source_);
    return weights;
  }
  const std::string index = weights.source_;
  const std::map<std::string, std::string> shard_of = read_index(index);
  std::set<std::string> files;
  for (const auto& [name, file] : shard_of) {
    if (files.insert(file).second) {
      weights.add_shard(model_dir + "/" + file);
    }
  }
  for (const auto& [name, file] : shard_of) {
    const auto it = weights.shard_of_.find(name);
    if (it == weights.shard_of_.end() || weights.shards_[it->second].path() != model_dir + "/" + file) {
      fail(fmt::format("{}: tensor '{}' is not in {} as the index says", index, name, file));
    }
  }
  return weights;
}

Weights::ShardOf::const_iterator Weights::locate(std::string_view name) const {
  auto it = shard_of_.find(name);
  if (it == shard_of_.end() && name.starts_with(base_prefix_)) {
    it = shard_of_.find(name.substr(base_prefix_.size()));
  }
  return it != shard_of_.end() ? it : shard_of_.find(base_prefix_ + std::string(name));
}

void Weights::fail_for_missing(std::string_view name) const {
  constexpr std::string_view kWeight = ".weight";
  if (name.ends_with(kWeight) && has(std::string(name.substr(0, name.size() - kWeight.size())) + ".qweight")) {
    fail(
        fmt::format("{}: '{}' is quantised there, but config.json has no quantization_config: add what the quantiser "
                    "wrote, such as quantize_config.json",
                    source_, name));
  }
  fail(fmt::format("{}: tensor '{}' is missing, the model in config.json needs it", source_, name));
}

const TensorEntry& Weights::find(const ParameterSpec& spec) const {
  if (!has(spec.name)) {
    fail_for_missing(spec.name);
  }
  const TensorEntry& entry = entry_of(spec.name);
  if (entry.shape != spec.shape) {
    fail(fmt::format("{}: tensor '{}' is [{}], but config.json asks for [{}]", file_of(spec.name).path(), spec.name,
                     fmt::join(entry.shape, ", "), fmt::join(spec.shape, ", ")));
  }
  return entry;
}

const TensorEntry& Weights::claim(const ParameterSpec& spec) {
  const TensorEntry& entry = find(spec);
  if (!c10::isFloatingType(entry.dtype) || c10::elementSize(entry.dtype) < 2) {
    fail(fmt::format(
        "{}: tensor '{}' is {}, not of floating point in 16 bits or more: quantised weights are supported only as GPTQ "
        "has them, with a quantization_config in config.json",
        file_of(spec.name).path(), spec.name, safetensors_dtype_name(entry.dtype)));
  }
  taken_.insert(entry.name);
  return entry;
}

at::Tensor Weights::take(const ParameterSpec& spec, at::ScalarType dtype, at::Device device) {
  const TensorEntry& entry = claim(spec);
  const at::Tensor stored = file_of(spec.name).tensor(entry);
  at::Tensor taken = stored.to(device, dtype);
  if (!taken.is_same(stored)) {
    release_mapped_pages(stored);
  }
  return taken;
}

at::Tensor Weights::take_integers(const ParameterSpec& spec) {
  const TensorEntry& entry = find(spec);
  if (entry.dtype != at::kInt) {
    fail(fmt::format("{}: tensor '{}' is {}, not of 32-bit integers", file_of(spec.name).path(), spec.name,
                     safetensors_dtype_name(entry.dtype)));
  }
  taken_.insert(entry.name);
  const at::Tensor stored = file_of(spec.name).tensor(entry);
  at::Tensor copy = stored.clone();
  release_mapped_pages(stored);
  return copy;
}

void Weights::read(const ParameterSpec& spec, at::Tensor& target) {
  const TensorEntry& entry = claim(spec);
  const at::Tensor stored = file_of(spec.name).tensor(entry);
  target.copy_(stored);
  release_mapped_pages(stored);
}

bool Weights::in_place(const ParameterSpec& spec, at::ScalarType dtype, at::Device device) const {
  if (!has(spec.name) || !device.is_cpu()) {
    return false;
  }
  const TensorEntry& entry = entry_of(spec.name);
  return entry.dtype == dtype && entry.shape == spec.shape && SafetensorsFile::is_aligned(entry);
}

const TensorEntry& Weights::entry_of(std::string_view name) const {
  const auto it = locate(name);
  return *shards_[it->second].find(it->first);
}

const SafetensorsFile& Weights::file_of(std::string_view name) const {
  return shards_[locate(name)->second];
}

void Weights::leave_to_others(std::string_view name) {
  if (const auto it = locate(name); it != shard_of_.end()) {
    taken_.insert(it->first);
  }
}

void Weights::pass_over(std::string_view prefix) {
  for (const auto& [name, shard] : shard_of_) {
    if (name.starts_with(prefix)) {
      taken_.insert(name);
    }
  }
}

void Weights::check_head_is(const std::string& embedding_name) const {
  const at::Tensor head = file_of(kHead).tensor(entry_of(kHead));
  const at::Tensor embedding = file_of(embedding_name).tensor(entry_of(embedding_name));
  if (head.scalar_type() != embedding.scalar_type() || !head.equal(embedding)) {
    fail(fmt::format("{}: config.json ties '{}' to '{}', but their values differ: set tie_word_embeddings to false",
                     source_, kHead, embedding_name));
  }
}

void Weights::check_all_taken(const std::string& tied_embedding) const {
  const auto head = locate(kHead);
  for (const auto& [name, shard] : shard_of_) {
    if (taken_.contains(name) || name.ends_with("rotary_emb.inv_freq")) {
      continue;
    }
    if (tied_embedding.empty() || head == shard_of_.end() || name != head->first) {
      fail(fmt::format("{}: tensor '{}' has no place in the model that config.json describes", shards_[shard].path(),
                       name));
    }
    check_head_is(tied_embedding);
  }
}

}  // namespace assay::engine
