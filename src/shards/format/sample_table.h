// Size, CRC32C and tokens of each sample: what lets a range of a shard be read and proven without the rest.
//
// Layout (little endian): 8 bytes magic "ASSAYSMP", u32 version, u32 zero, then a record a sample, in order:
// u32 bytes, u32 crc32c, u32 tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::shards {

struct SampleRecord {
  uint32_t bytes = 0;
  uint32_t crc32c = 0;
  uint32_t tokens = 0;

  bool operator==(const SampleRecord&) const = default;
};
static_assert(sizeof(SampleRecord) == 12);

inline constexpr int64_t kSampleTableHead = 16;

/// Where in the file the record of its `sample`-th sample lies.
inline int64_t SampleRecordOffset(int64_t sample) {
  return kSampleTableHead + sample * static_cast<int64_t>(sizeof(SampleRecord));
}

/// The first bytes of such a file.
std::string SampleTableHead();

/// The file is one, of `samples` records. `source` begins the error.
Status CheckSampleTable(std::span<const std::byte> head, int64_t bytes, int64_t samples, std::string_view source);

/// Records out of whole ones.
std::vector<SampleRecord> ReadSampleRecords(std::span<const std::byte> bytes);

}  // namespace assay::shards
