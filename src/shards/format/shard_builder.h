// Samples gathered into the files of a shard.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "shards/format/index.h"
#include "shards/format/manifest.h"
#include "shards/format/sample_table.h"

namespace assay::shards {

/// Samples where they were made, which `owner` keeps there.
struct SampleBytes {
  std::shared_ptr<const std::string> owner{};
  std::string_view bytes{};
};

/// A shard whose samples are all there, before it is hashed and compressed.
struct BuiltShard {
  std::shared_ptr<const ShardSchema> schema;
  int64_t number = 0;
  std::string head;                  ///< what its data file begins with
  std::vector<SampleBytes> samples;  ///< what follows, in order
  std::string meta;                  ///< of split shards: the file of offsets
  std::vector<SampleRecord> records;

  /// Its data file, as it lies in memory.
  std::vector<std::span<const std::byte>> data() const;
};

/// The files of a shard, ready to be stored, and what the index and the manifest say of it.
struct FinishedShard {
  struct File {
    std::string name;
    std::string content;  ///< empty where it is the head and the samples of what it was made from, as they lie
  };
  ShardEntry entry;
  ShardProof proof;
  File data;
  File meta;  ///< without a name: there is none
  std::vector<SampleRecord> records;
};

/// Hashes and compresses. The bytes of `shard` stay where they are: of one that is not compressed they are its data.
Result<FinishedShard> FinishShard(const BuiltShard& shard);

/// Takes samples until the next would pass the size limit, as the writers of mosaicml-streaming count; but no shard is
/// ever empty: a sample over the limit has one for itself. Belongs to one thread.
class ShardBuilder {
 public:
  /// `number` is that of the first shard.
  ShardBuilder(std::shared_ptr<const ShardSchema> schema, int64_t number);

  /// Whether the samples so far are to be taken before one of `bytes`.
  bool IsFullFor(size_t bytes) const;
  /// Nothing is copied.
  void Add(const SampleBytes& sample, const SampleRecord& record);
  int64_t samples() const { return static_cast<int64_t>(records_.size()); }
  /// The shard of what was added since the last call; the next has the next number.
  Result<BuiltShard> Take();

 private:
  const std::shared_ptr<const ShardSchema> schema_;
  const std::string schema_text_;
  int64_t number_;
  std::vector<SampleBytes> samples_;
  size_t bytes_ = 0;  // of those
  std::vector<SampleRecord> records_;
};

}  // namespace assay::shards
