// The directory of a zip archive, checked in full, and where its records lie.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "checkpoint/tensor/data_source.h"

namespace assay::checkpoint {

struct ZipRecord {
  std::string name{};
  int64_t data_offset = -1;  ///< of its bytes, in the source
  int64_t bytes = 0;
  uint32_t crc32 = 0;
};

/// Where the record of `bytes` bytes that lies alone in [begin, end) begins, where that is known without reading it.
using FindRecord = std::function<std::optional<int64_t>(int64_t begin, int64_t end, int64_t bytes)>;

/// An archive of stored records, as torch.save writes. Nothing is decompressed, so that no archive is larger than it
/// looks: a compressed or encrypted record is Unsupported. Every record lies before the directory and overlaps no
/// other.
class ZipArchive {
 public:
  /// InvalidArgument for what is no such archive, Unsupported as above. The header before each record tells where its
  /// bytes begin; it is not read where `known` does.
  static Result<ZipArchive> Open(std::shared_ptr<const DataSource> source, const FindRecord& known = {});
  /// Looks for the bytes of the record "ARCHIVE/`name`" alone: others have a `data_offset` of -1, and cannot be read.
  static Result<ZipArchive> OpenForOne(std::shared_ptr<const DataSource> source, std::string_view name);

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
  ZipArchive(std::shared_ptr<const DataSource> source, std::vector<ZipRecord> records);

  std::shared_ptr<const DataSource> source_;
  std::string archive_name_;
  std::vector<ZipRecord> records_;                   ///< in the order of the directory
  std::unordered_map<std::string, size_t> by_name_;  ///< within the archive's name
};

}  // namespace assay::checkpoint
