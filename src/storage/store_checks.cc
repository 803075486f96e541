#include "storage/store_checks.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/parallel.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/utf8.h"
#include "http/message.h"

namespace assay::storage {
namespace {

constexpr std::string_view kChangedWords = ": it changed, its etag is ";
constexpr std::string_view kMismatchWords = ": the content is damaged, ";
constexpr std::string_view kMismatchEnd = " (";
/// Summed between two looks at the cancel flag.
constexpr size_t kSummedBytes = size_t{8} << 20;
constexpr int kStatsAtATime = 32;

}  // namespace

Status CheckFileKey(std::string_view key, std::string_view uri) {
  if (key.empty()) {
    return Status::InvalidArgument(fmt::format("no object is named by {}: its key is empty (add a key)", uri));
  }
  if (key.size() > kMaxKeyBytes) {
    return Status::InvalidArgument(
        fmt::format("the key of {} has {} bytes: stores take {} at most (shorten it)", uri, key.size(), kMaxKeyBytes));
  }
  if (key.find('\0') != std::string_view::npos) {
    return Status::InvalidArgument(fmt::format("the key of {} holds a NUL: no store takes one (rename it)", uri));
  }
  return Status::Ok();
}

Status CheckKey(std::string_view key, std::string_view uri) {
  ASSAY_RETURN_IF_ERROR(CheckFileKey(key, uri));
  return IsUtf8(key) ? Status::Ok()
                     : Status::InvalidArgument(
                           fmt::format("the key of {} is no UTF-8: no store takes one (rename it)", Escaped(uri)));
}

namespace {

/// Tabs are kept from metadata too: signatures are of one space where some stand.
bool IsPlainValue(std::string_view value) {
  return http::IsHeaderValue(value) && value.find('\t') == std::string_view::npos;
}

}  // namespace

Status CheckHeaders(const WriteOptions& options, std::string_view uri) {
  for (const auto& [name, value] : options.metadata) {
    if (!http::IsHeaderName(name)) {
      return Status::InvalidArgument(fmt::format(
          "cannot write {}: its metadata is called '{}', which no header can be (use letters, digits, '-' and '_')",
          Escaped(uri), Escaped(name)));
    }
  }
  if (options.condition.kind == WriteCondition::Kind::kMatches && options.condition.etag.empty()) {
    return Status::InvalidArgument(fmt::format(
        "cannot write {}: its condition names no etag (name that of the object to be replaced)", Escaped(uri)));
  }
  std::map<std::string, std::string> values = options.metadata;
  values.insert({{"content type", options.content_type},
                 {"write token", options.write_token},
                 {"etag of the condition", options.condition.etag}});
  for (const auto& [name, value] : values) {
    if (!IsPlainValue(value)) {
      return Status::InvalidArgument(
          fmt::format("cannot write {}: its {} '{}' holds a control character (take it out, or encode it)",
                      Escaped(uri), options.metadata.contains(name) ? "metadata " + name : name, Escaped(value)));
    }
  }
  return Status::Ok();
}

Status CheckWrite(std::string_view key, const WriteOptions& options, std::string_view uri) {
  ASSAY_RETURN_IF_ERROR(CheckKey(key, uri));
  return CheckHeaders(options, uri);
}

Status CheckPieces(std::span<const ReadPiece> pieces, int64_t size, std::string_view uri) {
  for (const ReadPiece& piece : pieces) {
    const auto bytes = static_cast<int64_t>(piece.memory.size());
    if (piece.offset < 0 || piece.offset > size || bytes > size - piece.offset) {
      return Status::InvalidArgument(
          fmt::format("cannot read bytes {} to {} of {}: it has {} bytes (ask for a range within it)", piece.offset,
                      piece.offset + bytes, uri, size));
    }
  }
  return Status::Ok();
}

Status CancelledStatus(std::string_view verb, std::string_view uri) {
  return Status::Aborted(fmt::format("cannot {} {}: cancelled", verb, uri));
}

Status MissingObjectStatus(std::string_view verb, std::string_view uri) {
  return Status::NotFound(
      fmt::format("cannot {} {}: there is no such object (list its prefix to see what is there)", verb, uri));
}

Status ConditionFailedStatus(const WriteCondition& condition, std::string_view uri) {
  if (condition.kind == WriteCondition::Kind::kAbsent) {
    return Status::FailedPrecondition(
        fmt::format("cannot create {}: an object is there already (remove it, or choose another key)", uri));
  }
  return Status::FailedPrecondition(
      fmt::format("cannot replace {}: it no longer has the etag {} (read it again, then decide)", uri, condition.etag));
}

Status ChangedObjectStatus(std::string_view uri, std::string_view expected_etag, std::string_view found_etag) {
  return Status::FailedPrecondition(
      fmt::format("cannot read {}{}{} and not {} (read it again)", uri, kChangedWords, found_etag, expected_etag));
}

bool IsChangedObject(const Status& status) {
  return status.code() == ErrorCode::kFailedPrecondition && status.message().find(kChangedWords) != std::string::npos;
}

Status ChecksumMismatchStatus(std::string_view verb, std::string_view uri, const Checksum& expected,
                              const Checksum& found) {
  return Status::Io(
      fmt::format("cannot {} {}{}its {} is {} and not {}{}{})", verb, uri, kMismatchWords, NameOf(found.kind),
                  found.Hex(), expected.Hex(), kMismatchEnd,
                  verb == "read" ? "read it again; if that fails too, restore the object" : "write it again"));
}

bool IsChecksumMismatch(const Status& status) {
  return status.code() == ErrorCode::kIo && status.message().find(kMismatchWords) != std::string::npos;
}

std::optional<std::string> ChecksumMismatchOf(const Status& status, std::string_view verb, std::string_view uri) {
  // A status has no more than a code and words, and the code is that of all failures of disks and networks. What a
  // store says stands further behind.
  const std::string begin = fmt::format("cannot {} {}{}", verb, uri, kMismatchWords);
  if (status.code() != ErrorCode::kIo || !status.message().starts_with(begin)) {
    return std::nullopt;
  }
  const std::string rest = status.message().substr(begin.size());
  return rest.substr(0, rest.find(kMismatchEnd));
}

Result<ObjectInfo> StatExisting(ObjectStore& store, const std::string& key, std::string_view verb, CancelFlag cancel) {
  ASSAY_ASSIGN_OR_RETURN(std::optional<ObjectInfo> info, store.Stat(key, cancel));
  if (!info) {
    ASSAY_RETURN_IF_ERROR(store.ExplainAbsence(key, cancel));
    return MissingObjectStatus(verb, store.Uri(key));
  }
  return *std::move(info);
}

Result<std::vector<ObjectInfo>> StatExisting(ObjectStore& store, std::span<const std::string> keys,
                                             std::string_view verb, CancelFlag cancel) {
  std::vector<ObjectInfo> infos(keys.size());
  ASSAY_RETURN_IF_ERROR(ParallelUntilFailure(std::ssize(keys), kStatsAtATime, [&](int64_t i) {
    const auto at = static_cast<size_t>(i);
    ASSAY_ASSIGN_OR_RETURN(infos[at], StatExisting(store, keys[at], verb, cancel));
    return Status::Ok();
  }));
  return infos;
}

Status CheckExpected(const WriteOptions& options, std::span<const Bytes> content, std::string_view uri) {
  if (!options.expected) {
    return Status::Ok();
  }
  ChecksumStream stream(options.expected->kind);
  for (Bytes rest : content) {
    while (!rest.empty()) {
      if (IsCancelled(options.cancel)) {
        return CancelledStatus("write", uri);
      }
      const Bytes block = rest.first(std::min(rest.size(), kSummedBytes));
      stream.Update(block);
      rest = rest.subspan(block.size());
    }
  }
  const Checksum found = stream.Finish();
  return found == *options.expected ? Status::Ok() : ChecksumMismatchStatus("write", uri, *options.expected, found);
}

std::optional<Checksum> CombinedChecksum(std::span<const ObjectInfo> objects) {
  uint32_t crc = 0;
  for (const ObjectInfo& object : objects) {
    const auto part = object.checksum.has_value() ? Crc32cOf(*object.checksum) : std::nullopt;
    if (!part.has_value()) {
      return std::nullopt;
    }
    crc = CombineCrc32c(crc, *part, object.size);
  }
  return MakeCrc32c(crc);
}

Status CheckExpectedOf(const std::optional<Checksum>& expected, const std::optional<Checksum>& known,
                       std::string_view uri) {
  if (!expected.has_value() || expected == known) {
    return Status::Ok();
  }
  if (known.has_value() && known->kind == expected->kind) {
    return ChecksumMismatchStatus("write", uri, *expected, *known);
  }
  return Status::Unsupported(fmt::format("cannot check {}: the {} of its sources is not known (read and write it)", uri,
                                         NameOf(expected->kind)));
}

std::map<std::string, std::string> MetadataOf(const WriteOptions& options) {
  auto metadata = options.metadata;
  if (options.condition.kind != WriteCondition::Kind::kNone) {
    metadata[std::string(kWriteTokenName)] = options.write_token.empty() ? RandomUid() : options.write_token;
  }
  return metadata;
}

WriteOptions CopyOptions(const ObjectInfo& source, WriteOptions options) {
  if (options.content_type == WriteOptions().content_type) {
    options.content_type = source.content_type;
  }
  if (options.metadata.empty()) {
    options.metadata = source.metadata;
    options.metadata.erase(std::string(kWriteTokenName));
  }
  return options;
}

bool WonEarlier(const ObjectInfo& existing, const std::map<std::string, std::string>& metadata) {
  const auto ours = metadata.find(std::string(kWriteTokenName));
  const auto theirs = existing.metadata.find(std::string(kWriteTokenName));
  return ours != metadata.end() && theirs != existing.metadata.end() && ours->second == theirs->second;
}

std::optional<uint32_t> Crc32cOf(const Checksum& checksum) {
  if (checksum.kind != ChecksumKind::kCrc32c || checksum.value.size() != sizeof(uint32_t)) {
    return std::nullopt;
  }
  uint32_t value = 0;
  for (const char byte : checksum.value) {
    value = value << 8 | static_cast<unsigned char>(byte);
  }
  return value;
}

int64_t TotalBytes(std::span<const Bytes> buffers) {
  int64_t total = 0;
  for (const Bytes& buffer : buffers) {
    total += static_cast<int64_t>(buffer.size());
  }
  return total;
}

}  // namespace assay::storage
