#include "checkpoint/zip/zip_layout.h"

#include <algorithm>
#include <span>
#include <utility>

#include "checkpoint/zip/zip_format.h"
#include "storage/integrity/checksum.h"

namespace assay::checkpoint {
namespace {

bool NeedsZip64(int64_t header_offset, int64_t bytes) {
  return header_offset >= kInZip64 || bytes >= kInZip64;
}

/// Sizes and offset where they do not fit their fields; empty where all do.
std::string Zip64Extra(int64_t header_offset, int64_t bytes) {
  if (!NeedsZip64(header_offset, bytes)) {
    return "";
  }
  std::string numbers;
  if (bytes >= kInZip64) {
    PutLittleEndian(numbers, static_cast<uint64_t>(bytes), 8);
    PutLittleEndian(numbers, static_cast<uint64_t>(bytes), 8);
  }
  if (header_offset >= kInZip64) {
    PutLittleEndian(numbers, static_cast<uint64_t>(header_offset), 8);
  }
  std::string extra;
  PutLittleEndian(extra, kZip64Extra, 2);
  PutLittleEndian(extra, numbers.size(), 2);
  return extra + numbers;
}

uint16_t FlagsOf(int64_t bytes) {
  return kUtf8Names | (bytes > 0 ? kHasDescriptor : 0);
}

/// Version, flags, method, time and date: all that a stored record without a time has alike in both headers.
void PutCommon(std::string& text, int64_t bytes) {
  PutLittleEndian(text, 0, 2);
  PutLittleEndian(text, FlagsOf(bytes), 2);
  PutLittleEndian(text, 0, 6);
}

}  // namespace

ZipLayout::Record& ZipLayout::Begin(std::string_view name, int64_t bytes) {
  Record& record = records_.emplace_back();
  record.name = archive_ + "/" + std::string(name);
  record.header_offset = file_.bytes();
  record.bytes = bytes;
  const std::string zip64 = Zip64Extra(record.header_offset, bytes);
  // The padding is an extra field of its own, which takes four bytes at least.
  const int64_t unpadded =
      record.header_offset + kLocalHeaderBytes + static_cast<int64_t>(record.name.size() + zip64.size()) + 4;
  const auto padding = static_cast<size_t>((alignment_ - unpadded % alignment_) % alignment_);
  std::string header;
  PutLittleEndian(header, kLocalHeader, 4);
  PutCommon(header, bytes);
  PutLittleEndian(header, 0, 12);  // checksum and sizes stand in the descriptor
  PutLittleEndian(header, record.name.size(), 2);
  PutLittleEndian(header, zip64.size() + 4 + padding, 2);
  header += record.name + zip64 + "FB";
  PutLittleEndian(header, padding, 2);
  header.append(padding, 'Z');
  file_.AddText(std::move(header));
  return record;
}

void ZipLayout::End(const Record& record) {
  if (record.bytes == 0) {
    return;
  }
  std::string descriptor;
  PutLittleEndian(descriptor, kDataDescriptor, 4);
  PutLittleEndian(descriptor, record.crc32, 4);
  const int size_bytes = NeedsZip64(record.header_offset, record.bytes) ? 8 : 4;
  PutLittleEndian(descriptor, static_cast<uint64_t>(record.bytes), size_bytes);
  PutLittleEndian(descriptor, static_cast<uint64_t>(record.bytes), size_bytes);
  file_.AddText(std::move(descriptor));
  if (record.data_segment != 0) {
    file_.AddCrc32Place({file_.segments().size() - 1, 4, record.data_segment});
  }
}

void ZipLayout::AddText(std::string_view name, std::string text) {
  Record& record = Begin(name, static_cast<int64_t>(text.size()));
  record.crc32 = storage::Crc32(0, std::as_bytes(std::span(text)));
  file_.AddText(std::move(text));
  End(record);
}

void ZipLayout::AddData(std::string_view name, std::string item, std::shared_ptr<const DataSource> source,
                        int64_t offset, int64_t bytes) {
  Record& record = Begin(name, bytes);
  file_.AddData(std::move(item), std::move(source), offset, bytes);
  record.data_segment = bytes > 0 ? file_.segments().size() - 1 : 0;
  End(record);
}

FileLayout ZipLayout::Finish() {
  const int64_t directory_offset = file_.bytes();
  const size_t directory_segment = file_.segments().size();
  std::string directory;
  for (const Record& record : records_) {
    const std::string zip64 = Zip64Extra(record.header_offset, record.bytes);
    PutLittleEndian(directory, kCentralHeader, 4);
    PutLittleEndian(directory, 0, 2);  // made by
    PutCommon(directory, record.bytes);
    if (record.data_segment != 0) {
      file_.AddCrc32Place({directory_segment, directory.size(), record.data_segment});
    }
    PutLittleEndian(directory, record.crc32, 4);
    PutLittleEndian(directory, static_cast<uint64_t>(std::min(record.bytes, kInZip64)), 4);
    PutLittleEndian(directory, static_cast<uint64_t>(std::min(record.bytes, kInZip64)), 4);
    PutLittleEndian(directory, record.name.size(), 2);
    PutLittleEndian(directory, zip64.size(), 2);
    PutLittleEndian(directory, 0, 10);  // comment, disk, attributes
    PutLittleEndian(directory, static_cast<uint64_t>(std::min(record.header_offset, kInZip64)), 4);
    directory += record.name + zip64;
  }
  const auto directory_bytes = static_cast<int64_t>(directory.size());
  const int64_t zip64_end_offset = directory_offset + directory_bytes;
  PutLittleEndian(directory, kZip64End, 4);
  PutLittleEndian(directory, kZip64EndBytes - 12, 8);
  PutLittleEndian(directory, 0x031e, 2);  // made by, needed
  PutLittleEndian(directory, 0x002d, 2);
  PutLittleEndian(directory, 0, 8);  // disks
  PutLittleEndian(directory, records_.size(), 8);
  PutLittleEndian(directory, records_.size(), 8);
  PutLittleEndian(directory, static_cast<uint64_t>(directory_bytes), 8);
  PutLittleEndian(directory, static_cast<uint64_t>(directory_offset), 8);
  PutLittleEndian(directory, kZip64Locator, 4);
  PutLittleEndian(directory, 0, 4);
  PutLittleEndian(directory, static_cast<uint64_t>(zip64_end_offset), 8);
  PutLittleEndian(directory, 1, 4);
  PutLittleEndian(directory, kEndOfDirectory, 4);
  PutLittleEndian(directory, 0, 4);
  const auto count = std::min<uint64_t>(records_.size(), kInZip64Count);
  PutLittleEndian(directory, count, 2);
  PutLittleEndian(directory, count, 2);
  PutLittleEndian(directory, static_cast<uint64_t>(std::min(directory_bytes, kInZip64)), 4);
  PutLittleEndian(directory, static_cast<uint64_t>(std::min(directory_offset, kInZip64)), 4);
  PutLittleEndian(directory, 0, 2);
  file_.AddText(std::move(directory));
  return std::move(file_);
}

}  // namespace assay::checkpoint
