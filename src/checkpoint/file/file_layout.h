// A file before it is written: small texts of the format, and ranges of tensors where they lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/tensor/data_source.h"

namespace assay::checkpoint {

/// A stretch of a file: a text, or bytes of a source.
struct Segment {
  std::string text{};
  std::shared_ptr<const DataSource> source{};  ///< null: the text
  int64_t offset = 0;                          ///< in the source
  int64_t bytes = 0;

  bool is_text() const { return source == nullptr; }
};

/// Four bytes of a text that hold, little endian, the CRC-32 (of zip) of a segment before it.
struct Crc32Place {
  size_t text_segment = 0;
  size_t at = 0;  ///< in the text
  size_t of_segment = 0;
};

/// Bytes of the file that belong together: those of a tensor, or of a part of one.
struct FileItem {
  std::string name{};
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// Segments one behind the other. A format puts them together; what writes a file knows nothing of formats.
class FileLayout {
 public:
  void AddText(std::string text);
  /// `bytes` of `source` from `offset` on, which are the item `name`; without a name they are in no manifest's items.
  void AddData(std::string name, std::shared_ptr<const DataSource> source, int64_t offset, int64_t bytes);
  void AddCrc32Place(Crc32Place place) { crc32_places_.push_back(place); }
  /// Gives all items that name.
  void NameItems(const std::string& name);
  /// Of another layout, behind what stands here: its segments, its items, its places of CRC-32.
  void Append(FileLayout other);

  int64_t bytes() const { return bytes_; }
  const std::vector<Segment>& segments() const { return segments_; }
  std::vector<Segment>& segments() { return segments_; }
  const std::vector<Crc32Place>& crc32_places() const { return crc32_places_; }
  const std::vector<FileItem>& items() const { return items_; }

 private:
  std::vector<Segment> segments_;
  std::vector<Crc32Place> crc32_places_;
  std::vector<FileItem> items_;
  int64_t bytes_ = 0;
};

/// Appends a number of `bytes` bytes, little endian; beyond its eight there are zeros.
void PutLittleEndian(std::string& text, uint64_t value, int bytes);

}  // namespace assay::checkpoint
