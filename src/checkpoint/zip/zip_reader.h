// The directory of a zip archive, checked in full, and where its records lie.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "checkpoint/tensor/data_source.h"

namespace assay::checkpoint {

struct ZipRecord {
  std::string name{};
  int64_t data_offset = 0;  ///< of its bytes, in the source
  int64_t bytes = 0;
  uint32_t crc32 = 0;
};

/// An archive of stored records, as torch.save writes. Nothing is decompressed, so that no archive is larger than it
/// looks: a compressed or encrypted record is Unsupported. Every record lies before the directory and overlaps no
/// other.
class ZipArchive {
 public:
  /// InvalidArgument for what is no such archive, Unsupported as above.
  static Result<ZipArchive> Open(std::shared_ptr<const DataSource> source);

  const DataSource& source() const { return *source_; }
  std::shared_ptr<const DataSource> shared_source() const { return source_; }
  const std::vector<ZipRecord>& records() const { return records_; }
  /// What stands before the first '/' of the records' names.
  const std::string& archive_name() const { return archive_name_; }
  /// The record "ARCHIVE/`name`"; null for none.
  const ZipRecord* Find(std::string_view name) const;
  /// Whether its records have checksums: torch can be told to write none (set_crc32_options), and leaves zeros then.
  bool has_checksums() const;
  /// Its bytes, whose CRC-32 is checked where there is one. At most `limit` of them, else InvalidArgument.
  Result<std::string> Read(const ZipRecord& record, int64_t limit) const;

 private:
  explicit ZipArchive(std::shared_ptr<const DataSource> source) : source_(std::move(source)) {}

  std::shared_ptr<const DataSource> source_;
  std::string archive_name_;
  std::vector<ZipRecord> records_;                   ///< in the order of the directory
  std::unordered_map<std::string, size_t> by_name_;  ///< within the archive's name
};

}  // namespace assay::checkpoint
