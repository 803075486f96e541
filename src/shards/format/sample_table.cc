#include "shards/format/sample_table.h"

#include <fmt/format.h>

#include <cstring>

namespace assay::shards {
namespace {

constexpr std::string_view kTableMagic = "ASSAYSMP";
constexpr uint32_t kVersion = 1;

}  // namespace

std::string SampleTableHead() {
  std::string head(kTableMagic);
  head.append(reinterpret_cast<const char*>(&kVersion), sizeof(kVersion));
  head.resize(kSampleTableHead);
  return head;
}

Status CheckSampleTable(std::span<const std::byte> head, int64_t bytes, int64_t samples, std::string_view source) {
  const std::string expected = SampleTableHead();
  if (head.size() < expected.size() || std::memcmp(head.data(), expected.data(), expected.size()) != 0) {
    return Status::InvalidArgument(fmt::format("{} is no table of samples, or of a newer version", source));
  }
  if (bytes != SampleRecordOffset(samples)) {
    return Status::InvalidArgument(
        fmt::format("{} has {} bytes, which are not those of {} samples", source, bytes, samples));
  }
  return Status::Ok();
}

std::vector<SampleRecord> ReadSampleRecords(std::span<const std::byte> bytes) {
  std::vector<SampleRecord> records(bytes.size() / sizeof(SampleRecord));
  if (!records.empty()) {
    std::memcpy(records.data(), bytes.data(), records.size() * sizeof(SampleRecord));
  }
  return records;
}

}  // namespace assay::shards
