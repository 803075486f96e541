// Zip archives laid out as torch.save writes them: stored records, their data aligned, zip64 where it is needed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/file/file_layout.h"

namespace assay::checkpoint {

/// Lays records out one behind the other. As torch's own writer (caffe2/serialize/inline_container.cc over miniz) it
/// fills the extra field of each local header so that the record's bytes begin at a multiple of the alignment, puts a
/// data descriptor behind them and ends with both end records.
class ZipLayout {
 public:
  /// Records are named "`archive`/NAME".
  ZipLayout(std::string archive, int64_t alignment) : archive_(std::move(archive)), alignment_(alignment) {}

  void AddText(std::string_view name, std::string text);
  /// `item` is the name of the bytes in the layout (FileItem).
  void AddData(std::string_view name, std::string item, std::shared_ptr<const DataSource> source, int64_t offset,
               int64_t bytes);
  /// The archive, complete. Offsets of its records count from its begin, wherever it lies in a file.
  FileLayout Finish();

 private:
  struct Record {
    std::string name;
    int64_t header_offset = 0;
    int64_t bytes = 0;
    uint32_t crc32 = 0;
    size_t data_segment = 0;  ///< whose CRC-32 is yet to come; 0 for a text
  };

  Record& Begin(std::string_view name, int64_t bytes);
  void End(const Record& record);

  std::string archive_;
  int64_t alignment_;
  FileLayout file_;
  std::vector<Record> records_;
};

}  // namespace assay::checkpoint
