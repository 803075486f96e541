#include "checkpoint/file/file_layout.h"

namespace assay::checkpoint {

void FileLayout::AddText(std::string text) {
  if (text.empty()) {
    return;
  }
  const auto bytes = static_cast<int64_t>(text.size());
  segments_.push_back({.text = std::move(text), .bytes = bytes});
  bytes_ += bytes;
}

void FileLayout::AddData(std::string name, std::shared_ptr<const DataSource> source, int64_t offset, int64_t bytes) {
  items_.push_back({std::move(name), bytes_, bytes});
  segments_.push_back({.source = std::move(source), .offset = offset, .bytes = bytes});
  bytes_ += bytes;
}

void FileLayout::NameItems(const std::string& name) {
  for (FileItem& item : items_) {
    item.name = name;
  }
}

void FileLayout::Append(FileLayout other) {
  const size_t before = segments_.size();
  for (Crc32Place place : other.crc32_places_) {
    crc32_places_.push_back({place.text_segment + before, place.at, place.of_segment + before});
  }
  for (FileItem& item : other.items_) {
    item.offset += bytes_;
    items_.push_back(std::move(item));
  }
  for (Segment& segment : other.segments_) {
    segments_.push_back(std::move(segment));
  }
  bytes_ += other.bytes_;
}

void PutLittleEndian(std::string& text, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) {
    text += static_cast<char>(value);
    value >>= 8;
  }
}

}  // namespace assay::checkpoint
