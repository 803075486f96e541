// Where the parameters of a flat buffer lie, and which part of them each rank has.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::engine {

struct FlatParameter {
  std::string name;
  std::vector<int64_t> shape;
  int64_t offset = 0;  ///< elements from the start of the buffer
  int64_t elements = 0;
};

/// A stretch of one parameter inside one rank's shard.
struct ShardSlice {
  size_t parameter = 0;
  int64_t in_parameter = 0;  ///< first element, counted from the parameter's
  int64_t in_shard = 0;      ///< the same, counted from the shard's
  int64_t elements = 0;
};

/// Parameters end to end, each from a multiple of kAlignment elements on; the whole padded so that it divides into
/// equal shards. Immutable.
class FlatLayout {
 public:
  /// A cache line of 16-bit elements; what the widest kernels load at once.
  static constexpr int64_t kAlignment = 32;
  static constexpr int64_t round_up(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
  }
  /// What a parameter takes in the buffer.
  static constexpr int64_t place_of(int64_t elements) { return round_up(elements, kAlignment); }

  /// `at_least`: elements that the whole is padded to, if it has fewer.
  FlatLayout(std::vector<std::pair<std::string, std::vector<int64_t>>> names_and_shapes, int64_t ranks,
             int64_t at_least = 0);

  const std::vector<FlatParameter>& parameters() const { return parameters_; }
  int64_t elements() const { return shard_elements_ * ranks_; }  ///< of the padded buffer
  int64_t shard_elements() const { return shard_elements_; }
  int64_t ranks() const { return ranks_; }
  /// Those in the shard of `rank`, by offset.
  std::vector<ShardSlice> slices(int64_t rank) const;

  struct Gap {
    int64_t offset = 0;
    int64_t elements = 0;
  };
  /// Elements that belong to no parameter.
  const std::vector<Gap>& gaps() const { return gaps_; }

 private:
  std::vector<FlatParameter> parameters_;
  std::vector<Gap> gaps_;
  int64_t ranks_;
  int64_t shard_elements_ = 0;
};

}  // namespace assay::engine
