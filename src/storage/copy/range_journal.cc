#include "storage/copy/range_journal.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/copy/checksum_json.h"

namespace assay::storage {
namespace {

nlohmann::json ObjectJson(const ObjectInfo& object) {
  return {{"etag", object.etag}, {"size", object.size}};
}

std::optional<PartChecksum> RangeFrom(const nlohmann::json& json) {
  PartChecksum range;
  if (!json.is_object() || !ReadField(json, "offset", range.offset).ok() ||
      !ReadField(json, "bytes", range.bytes).ok()) {
    return std::nullopt;
  }
  const auto checksum = ChecksumFromJson(json.value("checksum", nlohmann::json()));
  if (!checksum || range.offset < 0 || range.bytes <= 0) {
    return std::nullopt;
  }
  range.checksum = *checksum;
  return range;
}

/// Locked; invalid where another process holds the lock, or removed the file meanwhile.
Result<FileDescriptor> OpenLocked(const std::string& path) {
  ASSAY_RETURN_IF_ERROR(MakeDirectories(std::filesystem::path(path).parent_path()));
  FileDescriptor file = OpenFile(path.c_str(), O_RDWR | O_CREAT | O_APPEND, 0600);
  struct stat status;
  if (!file.valid()) {
    return ErrnoStatus(errno, "open", path);
  }
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(file.get(), &status) != 0 || status.st_nlink == 0) {
    file.Reset();
  }
  return file;
}

}  // namespace

Result<std::unique_ptr<RangeJournal>> RangeJournal::Open(const std::string& path, const ObjectInfo& object) {
  ASSAY_ASSIGN_OR_RETURN(FileDescriptor file, OpenLocked(path));
  if (!file.valid()) {
    return std::unique_ptr<RangeJournal>();
  }
  std::unique_ptr<RangeJournal> journal(new RangeJournal(path, std::move(file)));
  journal->ReadEarlier(object);
  return journal;
}

void RangeJournal::ReadEarlier(const ObjectInfo& object) {
  const Result<std::string> text = ReadFile(path_);
  const std::vector<std::string> lines = text.ok() ? Split(*text, '\n') : std::vector<std::string>();
  if (lines.empty() || nlohmann::json::parse(lines.front(), nullptr, false) != ObjectJson(object)) {
    if (::ftruncate(file_.get(), 0) == 0) {
      Append(DumpJson(ObjectJson(object)));
    }
    return;
  }
  for (const std::string& line : lines) {
    if (const auto range = RangeFrom(nlohmann::json::parse(line, nullptr, false))) {
      earlier_.push_back(*range);
    }
  }
}

std::vector<PartChecksum> RangeJournal::Check(Bytes memory) const {
  std::vector<PartChecksum> sorted = earlier_;
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PartChecksum& a, const PartChecksum& b) { return a.offset < b.offset; });
  std::vector<PartChecksum> found;
  int64_t end = 0;
  const auto size = static_cast<int64_t>(memory.size());
  for (const PartChecksum& range : sorted) {
    if (range.offset < end || range.offset > size || range.bytes > size - range.offset) {
      continue;
    }
    const Bytes bytes = memory.subspan(static_cast<size_t>(range.offset), static_cast<size_t>(range.bytes));
    if (ChecksumOf(range.checksum.kind, bytes) == range.checksum) {
      found.push_back(range);
      end = range.offset + range.bytes;
    }
  }
  return found;
}

void RangeJournal::Add(const PartChecksum& range) {
  if (!range.checksum.value.empty()) {
    Append(DumpJson({{"offset", range.offset}, {"bytes", range.bytes}, {"checksum", ChecksumJson(range.checksum)}}));
  }
}

void RangeJournal::Append(const std::string& line) {
  // A journal that cannot be written (a full disk) costs a resumption, not the copy.
  const std::string text = line + '\n';
  [[maybe_unused]] const bool written = WriteAll(file_.get(), std::as_bytes(std::span(text)));
}

void RangeJournal::Remove() {
  ::unlink(path_.c_str());
}

}  // namespace assay::storage
