// The weights of a Hugging Face folder: one safetensors file, or shards with an index.
//
// Tensors are asked for by the names that the model has for them. A checkpoint that was saved from the model without
// its head has no prefix such as "model." before its names, and one that was saved from a model around it has it twice:
// a name that is not there is looked for without the prefix, and with it, as transformers does.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/parameter_source.h"
#include "engine/model/safetensors.h"

namespace assay::engine {

class Weights {
 public:
  /// None when the folder holds no weights. Throws StatusError when it holds some that cannot be used
  /// (job::FindWeights), or when a shard is missing or damaged. `base_prefix`: what the names of all parameters but
  /// the head's begin with, such as "model."; empty: nothing.
  static std::optional<Weights> open(const std::string& model_dir, std::string_view base_prefix = {});

  /// The tensor called `spec.name` as `dtype` on `device`: the mapping itself where nothing has to change. Throws
  /// StatusError when it is missing, of another shape or not of floating point.
  at::Tensor take(const ParameterSpec& spec, at::ScalarType dtype, at::Device device);
  /// A copy of a tensor of 32-bit integers, on the CPU; throws likewise.
  at::Tensor take_integers(const ParameterSpec& spec);
  /// take() into `target`, converted to its dtype.
  void read(const ParameterSpec& spec, at::Tensor& target);
  /// Whether take() gives the mapping itself.
  bool in_place(const ParameterSpec& spec, at::ScalarType dtype, at::Device device) const;
  /// Counts the tensor as taken, and throws as take() does.
  const TensorEntry& claim(const ParameterSpec& spec);

  bool has(std::string_view name) const { return locate(name) != shard_of_.end(); }
  /// Of a tensor that is there, and under the name that the file has for it.
  const TensorEntry& entry_of(std::string_view name) const;
  /// Where a tensor is that is there.
  const SafetensorsFile& file_of(std::string_view name) const;
  /// The file that lists all tensors, for messages.
  const std::string& source() const { return source_; }
  /// Counts the tensor as taken, if it is there: another part of the model takes it.
  void leave_to_others(std::string_view name);
  /// Tensors whose names begin so count as taken.
  void pass_over(std::string_view prefix);

  /// Throws StatusError for the first tensor that was never taken. The rotary buffers of old checkpoints are passed
  /// over, and so is a stored head that is tied to an embedding of this name (empty: it is not), provided that it is a
  /// copy of it.
  void check_all_taken(const std::string& tied_embedding = {}) const;

 private:
  using ShardOf = std::map<std::string, size_t, std::less<>>;  ///< by name in the file

  void add_shard(const std::string& path);
  ShardOf::const_iterator locate(std::string_view name) const;
  /// Of the right shape.
  const TensorEntry& find(const ParameterSpec& spec) const;
  [[noreturn]] void fail_for_missing(std::string_view name) const;
  void check_head_is(const std::string& embedding_name) const;

  std::string source_;  ///< the file that lists all tensors
  std::string base_prefix_;
  std::vector<SafetensorsFile> shards_;
  ShardOf shard_of_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace assay::engine
