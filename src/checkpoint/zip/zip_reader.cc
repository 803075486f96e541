#include "checkpoint/zip/zip_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <span>
#include <utility>

#include "base/utf8.h"
#include "checkpoint/zip/zip_format.h"
#include "storage/integrity/checksum.h"

namespace assay::checkpoint {
namespace {

/// A directory may take so much memory; a record in it takes 46 bytes at least.
constexpr int64_t kMostDirectoryBytes = int64_t{1} << 30;
constexpr int64_t kMostCommentBytes = 0xffff;

Status NotAZip(const DataSource& source, const std::string& what) {
  return Status::InvalidArgument(
      fmt::format("{}: {}; the file is damaged or no zip archive, fetch or write it again", source.uri(), what));
}

/// Fields of a header one behind the other; reading beyond its end gives zeros and is told by ok().
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}
  uint64_t Take(size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && i < rest_.size(); ++i) {
      value |= static_cast<uint64_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    }
    Skip(bytes);
    return value;
  }
  std::string_view Text(size_t bytes) {
    const std::string_view text = rest_.substr(0, bytes);
    Skip(bytes);
    return text;
  }
  void Skip(size_t bytes) {
    ok_ = ok_ && bytes <= rest_.size();
    rest_.remove_prefix(std::min(bytes, rest_.size()));
  }
  bool ok() const { return ok_; }
  bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct Directory {
  int64_t offset = 0;
  int64_t bytes = 0;
  uint64_t records = 0;
};

/// Numbers of a 64-bit field that must be one of bytes.
std::optional<int64_t> AsBytes(uint64_t value) {
  return value <= uint64_t{1} << 62 ? std::optional(static_cast<int64_t>(value)) : std::nullopt;
}

Result<Directory> FromEnd(const DataSource& source, std::string_view tail, size_t end_at) {
  Fields end(tail.substr(end_at));
  end.Skip(8);
  end.Skip(2);
  Directory directory = {.records = end.Take(2)};
  directory.bytes = static_cast<int64_t>(end.Take(4));
  directory.offset = static_cast<int64_t>(end.Take(4));
  const bool has_locator = end_at >= kZip64LocatorBytes;
  Fields locator(has_locator ? tail.substr(end_at - kZip64LocatorBytes, kZip64LocatorBytes) : std::string_view());
  if (!has_locator || locator.Take(4) != kZip64Locator) {
    return directory;
  }
  locator.Skip(4);
  const std::optional<int64_t> offset = AsBytes(locator.Take(8));
  if (!offset || *offset > source.bytes() - kZip64EndBytes) {
    return NotAZip(source, "its zip64 end record lies outside it");
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string record, ReadText(source, *offset, kZip64EndBytes));
  Fields zip64(record);
  if (zip64.Take(4) != kZip64End) {
    return NotAZip(source, "it has no zip64 end record where one should be");
  }
  zip64.Skip(28);
  directory.records = zip64.Take(8);
  const std::optional<int64_t> bytes = AsBytes(zip64.Take(8));
  const std::optional<int64_t> begin = AsBytes(zip64.Take(8));
  if (!bytes || !begin) {
    return NotAZip(source, "its directory lies outside it");
  }
  directory.bytes = *bytes;
  directory.offset = *begin;
  return directory;
}

Result<Directory> FindDirectory(const DataSource& source) {
  const int64_t tail_bytes = std::min(source.bytes(), kMostCommentBytes + kEndOfDirectoryBytes + kZip64LocatorBytes);
  // Most archives have no comment: the last bytes are enough.
  for (const int64_t wanted :
       {std::min<int64_t>(source.bytes(), kEndOfDirectoryBytes + kZip64LocatorBytes), tail_bytes}) {
    ASSAY_ASSIGN_OR_RETURN(const std::string tail, ReadText(source, source.bytes() - wanted, wanted));
    const size_t end_at = tail.rfind("PK\x05\x06");
    if (end_at != std::string::npos && tail.size() - end_at >= kEndOfDirectoryBytes) {
      ASSAY_ASSIGN_OR_RETURN(const Directory directory, FromEnd(source, tail, end_at));
      if (directory.offset > source.bytes() || directory.bytes > source.bytes() - directory.offset ||
          directory.bytes > kMostDirectoryBytes ||
          directory.records > static_cast<uint64_t>(directory.bytes) / kCentralHeaderBytes) {
        return NotAZip(source, "its directory lies outside it");
      }
      return directory;
    }
  }
  return NotAZip(source, fmt::format("it has {} bytes and no directory at their end", source.bytes()));
}

struct Entry {
  ZipRecord record;
  int64_t header_offset = 0;
};

/// The numbers of the zip64 extra field, in place of those that said so.
bool TakeZip64(std::string_view extra, std::span<int64_t* const> numbers) {
  Fields fields(extra);
  while (!fields.empty()) {
    const uint64_t id = fields.Take(2);
    const std::string_view content = fields.Text(fields.Take(2));
    if (!fields.ok()) {
      return false;
    }
    if (id != kZip64Extra) {
      continue;
    }
    Fields values(content);
    for (int64_t* number : numbers) {
      if (*number == kInZip64) {
        const std::optional<int64_t> value = AsBytes(values.Take(8));
        if (!value || !values.ok()) {
          return false;
        }
        *number = *value;
      }
    }
  }
  return true;
}

Result<Entry> TakeEntry(const DataSource& source, Fields& fields) {
  Entry entry;
  const uint64_t signature = fields.Take(4);
  fields.Skip(4);
  const uint64_t flags = fields.Take(2);
  const uint64_t method = fields.Take(2);
  fields.Skip(4);
  entry.record.crc32 = static_cast<uint32_t>(fields.Take(4));
  auto stored = static_cast<int64_t>(fields.Take(4));
  entry.record.bytes = static_cast<int64_t>(fields.Take(4));
  const uint64_t name_bytes = fields.Take(2);
  const uint64_t extra_bytes = fields.Take(2);
  const uint64_t comment_bytes = fields.Take(2);
  fields.Skip(8);
  entry.header_offset = static_cast<int64_t>(fields.Take(4));
  entry.record.name = fields.Text(name_bytes);
  const std::string_view extra = fields.Text(extra_bytes);
  fields.Skip(comment_bytes);
  const std::array<int64_t*, 3> numbers = {&entry.record.bytes, &stored, &entry.header_offset};
  if (!fields.ok() || signature != kCentralHeader || !TakeZip64(extra, numbers) || !IsUtf8(entry.record.name)) {
    return NotAZip(source, "an entry of its directory is damaged");
  }
  if (method != 0 || (flags & kEncrypted) != 0) {
    return Status::Unsupported(fmt::format("{}: its record '{}' is {}: torch writes and reads records as they are",
                                           source.uri(), entry.record.name, method != 0 ? "compressed" : "encrypted"));
  }
  if (stored != entry.record.bytes) {
    return NotAZip(source, fmt::format("its record '{}' has two sizes", entry.record.name));
  }
  return entry;
}

/// What a directory lists, and where it begins itself.
struct Contents {
  std::vector<Entry> entries;
  int64_t end = 0;
};

Result<Contents> ReadContents(const DataSource& source) {
  ASSAY_ASSIGN_OR_RETURN(const Directory directory, FindDirectory(source));
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadText(source, directory.offset, directory.bytes));
  Fields fields(text);
  Contents contents;
  contents.end = directory.offset;
  for (uint64_t i = 0; i < directory.records; ++i) {
    ASSAY_ASSIGN_OR_RETURN(Entry entry, TakeEntry(source, fields));
    if (entry.header_offset > contents.end - kLocalHeaderBytes) {
      return NotAZip(source, fmt::format("its record '{}' lies outside it", entry.record.name));
    }
    contents.entries.push_back(std::move(entry));
  }
  return contents;
}

std::vector<Entry*> InOrder(std::vector<Entry>& entries) {
  std::vector<Entry*> order;
  for (Entry& entry : entries) {
    order.push_back(&entry);
  }
  std::ranges::sort(order, {}, &Entry::header_offset);
  return order;
}

void TakeKnown(Contents& contents, const FindRecord& known) {
  int64_t end = contents.end;
  for (Entry* entry : std::views::reverse(InOrder(contents.entries))) {
    const int64_t begin = entry->header_offset + kLocalHeaderBytes;
    entry->record.data_offset = known(begin, end, entry->record.bytes).value_or(-1);
    end = entry->header_offset;
  }
}

/// Local headers tell where bytes begin; all are read at once.
Status ReadHeaders(const DataSource& source, const std::vector<Entry*>& entries, int64_t end) {
  if (entries.empty()) {
    return Status::Ok();
  }
  std::string headers(entries.size() * kLocalHeaderBytes, '\0');
  std::vector<storage::ReadPiece> pieces;
  for (size_t i = 0; i < entries.size(); ++i) {
    pieces.push_back({entries[i]->header_offset,
                      std::as_writable_bytes(std::span(headers).subspan(i * kLocalHeaderBytes, kLocalHeaderBytes))});
  }
  ASSAY_RETURN_IF_ERROR(source.Read(pieces));
  for (size_t i = 0; i < entries.size(); ++i) {
    Fields header(std::string_view(headers).substr(i * kLocalHeaderBytes, kLocalHeaderBytes));
    const bool is_header = header.Take(4) == kLocalHeader;
    header.Skip(22);
    const auto before = static_cast<int64_t>(header.Take(2)) + static_cast<int64_t>(header.Take(2));
    ZipRecord& record = entries[i]->record;
    record.data_offset = entries[i]->header_offset + kLocalHeaderBytes + before;
    if (!is_header || record.data_offset > end || record.bytes > end - record.data_offset) {
      return NotAZip(source, fmt::format("its record '{}' does not lie where its directory says", record.name));
    }
  }
  return Status::Ok();
}

Status CheckApart(const DataSource& source, std::vector<Entry>& entries) {
  const std::vector<Entry*> order = InOrder(entries);
  for (size_t i = 1; i < order.size(); ++i) {
    const ZipRecord& before = order[i - 1]->record;
    if (before.data_offset + before.bytes > order[i]->header_offset) {
      return NotAZip(source, fmt::format("its records '{}' and '{}' overlap", before.name, order[i]->record.name));
    }
  }
  return Status::Ok();
}

std::vector<ZipRecord> RecordsOf(std::vector<Entry> entries) {
  std::vector<ZipRecord> records;
  for (Entry& entry : entries) {
    records.push_back(std::move(entry.record));
  }
  return records;
}

}  // namespace

ZipArchive::ZipArchive(std::shared_ptr<const DataSource> source, std::vector<ZipRecord> records)
    : source_(std::move(source)), records_(std::move(records)) {
  if (!records_.empty()) {
    const std::string& name = records_.front().name;
    archive_name_ = name.substr(0, name.find('/'));
  }
  const std::string folder = archive_name_ + "/";
  for (size_t i = 0; i < records_.size(); ++i) {
    if (records_[i].name.starts_with(folder)) {
      by_name_.try_emplace(records_[i].name.substr(folder.size()), i);
    }
  }
}

Result<ZipArchive> ZipArchive::Open(std::shared_ptr<const DataSource> source, const FindRecord& known) {
  ASSAY_ASSIGN_OR_RETURN(Contents contents, ReadContents(*source));
  if (known) {
    TakeKnown(contents, known);
  }
  std::vector<Entry*> unknown = InOrder(contents.entries);
  std::erase_if(unknown, [](const Entry* entry) { return entry->record.data_offset >= 0; });
  ASSAY_RETURN_IF_ERROR(ReadHeaders(*source, unknown, contents.end));
  ASSAY_RETURN_IF_ERROR(CheckApart(*source, contents.entries));
  return ZipArchive(std::move(source), RecordsOf(std::move(contents.entries)));
}

Result<ZipArchive> ZipArchive::OpenForOne(std::shared_ptr<const DataSource> source, std::string_view name) {
  ASSAY_ASSIGN_OR_RETURN(Contents contents, ReadContents(*source));
  std::vector<Entry*> wanted = InOrder(contents.entries);
  std::erase_if(wanted, [&](const Entry* entry) {
    const std::string& full = entry->record.name;
    return full.substr(std::min(full.find('/'), full.size() - 1) + 1) != name;
  });
  ASSAY_RETURN_IF_ERROR(ReadHeaders(*source, wanted, contents.end));
  return ZipArchive(std::move(source), RecordsOf(std::move(contents.entries)));
}

const ZipRecord* ZipArchive::Find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : &records_[found->second];
}

bool ZipArchive::has_checksums() const {
  return std::ranges::any_of(records_, [](const ZipRecord& record) { return record.crc32 != 0; });
}

Result<std::string> ZipArchive::Read(const ZipRecord& record, int64_t limit) const {
  if (record.bytes > limit) {
    return NotAZip(*source_, fmt::format("its record '{}' has {} bytes, more than the {} that make sense", record.name,
                                         record.bytes, limit));
  }
  if (record.data_offset < 0) {
    return Status::Internal(fmt::format("{}: nobody looked for its record '{}'", source_->uri(), record.name));
  }
  ASSAY_ASSIGN_OR_RETURN(std::string text, ReadText(*source_, record.data_offset, record.bytes));
  const uint32_t crc = storage::Crc32(0, std::as_bytes(std::span(text)));
  if (crc != record.crc32 && has_checksums()) {
    return Status::Io(fmt::format("{}: its record '{}' is damaged: its CRC-32 is {:08x} and not {:08x}", source_->uri(),
                                  record.name, crc, record.crc32));
  }
  return text;
}

}  // namespace assay::checkpoint
