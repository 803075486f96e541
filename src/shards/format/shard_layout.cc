#include "shards/format/shard_layout.h"

#include <fmt/format.h>

#include <cstring>

#include "shards/format/webdataset.h"

namespace assay::shards {
namespace {

using Bytes = std::span<const std::byte>;

Status Lies(std::string_view what) {
  return Status::InvalidArgument(fmt::format("its offsets lie: {}", what));
}

/// The table, and behind it the schema.
std::string Table(std::span<const uint32_t> sizes, std::string_view schema, uint64_t first) {
  std::string out;
  out.reserve(static_cast<size_t>(OffsetTableBytes(static_cast<int64_t>(sizes.size()))) + schema.size());
  const auto append = [&out](uint64_t value) {
    const auto word = static_cast<uint32_t>(value);
    out.append(reinterpret_cast<const char*>(&word), sizeof(word));
  };
  append(sizes.size());
  append(first);
  for (const uint32_t size : sizes) {
    first += size;
    append(first);
  }
  out += schema;
  return out;
}

}  // namespace

Status CheckShardEnd(std::span<const uint32_t> sizes, uint64_t first) {
  for (const uint32_t size : sizes) {
    first += size;
  }
  return first <= UINT32_MAX ? Status::Ok()
                             : Status::InvalidArgument(
                                   "a shard of 4 GiB and more has offsets that do not fit 32 bits: "
                                   "give a smaller size limit");
}

Result<Offsets> ReadOffsets(Bytes table, int64_t samples, uint64_t least, uint64_t end) {
  const auto word = [table](size_t i) {
    uint32_t value = 0;
    std::memcpy(&value, table.data() + i * sizeof(value), sizeof(value));
    return value;
  };
  if (samples > UINT32_MAX || static_cast<int64_t>(table.size()) < OffsetTableBytes(samples)) {
    return Lies(fmt::format("there is no room for {} of them", samples));
  }
  if (word(0) != samples) {
    return Lies(fmt::format("it counts {} samples, the index {}", word(0), samples));
  }
  Offsets offsets(static_cast<size_t>(samples) + 1);
  uint64_t last = least;
  for (size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] = word(i + 1);
    if (offsets[i] < last) {
      return Lies(fmt::format("sample {} begins at {}, before {}", i, offsets[i], last));
    }
    last = offsets[i];
  }
  if (last != end) {
    return Lies(fmt::format("the last sample ends at {}, the file at {}", last, end));
  }
  return offsets;
}

Result<Offsets> FindSamples(const ShardEntry& shard, Bytes data, Bytes meta) {
  const auto least = static_cast<uint64_t>(OffsetTableBytes(shard.samples));
  switch (shard.schema->format) {
    case ShardFormat::kMds:
    case ShardFormat::kLitdata:
      return ReadOffsets(data, shard.samples, least, data.size());
    case ShardFormat::kJson:
    case ShardFormat::kXsv:
      return ReadOffsets(meta, shard.samples, 0, data.size());
    case ShardFormat::kWebDataset: {
      ASSAY_ASSIGN_OR_RETURN(Offsets offsets, FindWebSamples(data));
      const auto found = static_cast<int64_t>(offsets.size()) - 1;
      return found == shard.samples
                 ? Result<Offsets>(std::move(offsets))
                 : Status::InvalidArgument(fmt::format("it holds {} samples, the index says {}", found, shard.samples));
    }
  }
  return Status::Internal("there is no such format of shards");
}

Result<std::string> MdsHead(std::span<const uint32_t> sizes, std::string_view schema) {
  const auto first = static_cast<uint64_t>(OffsetTableBytes(static_cast<int64_t>(sizes.size()))) + schema.size();
  ASSAY_RETURN_IF_ERROR(CheckShardEnd(sizes, first));
  return Table(sizes, schema, first);
}

Result<std::string> SplitMeta(std::span<const uint32_t> sizes, std::string_view schema, uint64_t first) {
  ASSAY_RETURN_IF_ERROR(CheckShardEnd(sizes, first));
  return Table(sizes, schema, first);
}

}  // namespace assay::shards
