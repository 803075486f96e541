#include "storage/copy/range_journal.h"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

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

/// Nothing where it cannot be read: then there is nothing to go on with.
std::string ReadAll(int fd) {
  std::string text;
  std::string block(size_t{64} << 10, '\0');
  ssize_t got = 0;
  while ((got = RetryOnSignal(
              [&] { return ::pread(fd, block.data(), block.size(), static_cast<off_t>(text.size())); })) > 0) {
    text.append(block, 0, static_cast<size_t>(got));
  }
  return got == 0 ? text : std::string();
}

}  // namespace

std::unique_ptr<RangeJournal> RangeJournal::Open(StagedNotes notes, const ObjectInfo& object) {
  struct stat status;
  if (::flock(notes.fd.get(), LOCK_EX | LOCK_NB) != 0 || ::fstat(notes.fd.get(), &status) != 0 ||
      status.st_nlink == 0) {
    return nullptr;
  }
  std::unique_ptr<RangeJournal> journal(new RangeJournal(std::move(notes)));
  journal->ReadEarlier(object);
  return journal;
}

void RangeJournal::ReadEarlier(const ObjectInfo& object) {
  const std::vector<std::string> lines = Split(ReadAll(notes_.fd.get()), '\n');
  if (lines.empty() || nlohmann::json::parse(lines.front(), nullptr, false) != ObjectJson(object)) {
    if (::ftruncate(notes_.fd.get(), 0) == 0) {
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
  [[maybe_unused]] const bool written = WriteAll(notes_.fd.get(), std::as_bytes(std::span(text)));
}

void RangeJournal::Remove() {
  ::unlinkat(notes_.folder.get(), notes_.name.c_str(), 0);
}

}  // namespace assay::storage
