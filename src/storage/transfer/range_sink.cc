#include "storage/transfer/range_sink.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/file_descriptor.h"
#include "base/streaming_copy.h"
#include "storage/mapped_file.h"

namespace assay::storage {
namespace {

/// Of ranges as long as this little is left in the cache when the last byte has come.
constexpr int64_t kStreamedBytes = 4 << 20;

/// The first byte's position of "bytes 5-9/100"; 0 for an answer that is the whole object.
std::optional<int64_t> FirstByte(const http::Response& head) {
  const auto range = head.headers.Find("content-range");
  if (!range) {
    return head.status == 206 ? std::nullopt : std::optional<int64_t>(0);
  }
  int64_t first = 0;
  const std::string_view digits = range->starts_with("bytes ") ? range->substr(6) : std::string_view();
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), first);
  return error == std::errc() ? std::optional<int64_t>(first) : std::nullopt;
}

int64_t EndOf(const ReadPiece& piece) {
  return piece.offset + static_cast<int64_t>(piece.memory.size());
}

void CopyInto(std::span<const std::byte> bytes, std::byte* to, bool streamed) {
  if (streamed) {
    StreamingCopy(bytes, to);
  } else {
    std::memcpy(to, bytes.data(), bytes.size());
  }
}

/// The part of `chunk`, which begins at `position`, that a target wants, and where in its memory.
struct Overlap {
  std::span<const std::byte> bytes;
  std::span<std::byte> place;
};

Overlap OverlapOf(std::span<const std::byte> chunk, int64_t position, const ReadPiece& target) {
  const int64_t begin = std::max(position, target.offset);
  const int64_t end = std::min(position + static_cast<int64_t>(chunk.size()), EndOf(target));
  if (begin >= end) {
    return {};
  }
  const auto bytes = static_cast<size_t>(end - begin);
  return {chunk.subspan(static_cast<size_t>(begin - position), bytes),
          target.memory.subspan(static_cast<size_t>(begin - target.offset), bytes)};
}

void Copy(const Overlap& overlap, const ReadPiece& target) {
  if (!overlap.bytes.empty()) {
    CopyInto(overlap.bytes, overlap.place.data(), static_cast<int64_t>(target.memory.size()) >= kStreamedBytes);
  }
}

/// False with errno set on failure.
bool WriteAllAt(int file, std::span<const std::byte> bytes, int64_t offset) {
  while (!bytes.empty()) {
    const ssize_t written = RetryOnSignal([&] { return ::pwrite(file, bytes.data(), bytes.size(), offset); });
    if (written < 0) {
      return false;
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += written;
  }
  return true;
}

}  // namespace

void Scatter(std::span<const std::byte> bytes, int64_t offset, std::span<const ReadPiece> targets) {
  for (const ReadPiece& target : targets) {
    Copy(OverlapOf(bytes, offset, target), target);
  }
}

RangeSink::RangeSink(const ReadDialect& dialect, Attempt& attempt, RangeExpectation expectation,
                     std::optional<ChecksumKind> checksum, Placement place)
    : dialect_(dialect),
      attempt_(attempt),
      expectation_(std::move(expectation)),
      checksum_(checksum),
      place_(std::move(place)),
      position_(expectation_.offset) {}

Status RangeSink::Refuse(Failure failure) {
  Status status(failure.code, failure.message);
  attempt_.refusal = std::move(failure);
  return status;
}

std::optional<Failure> RangeSink::CheckHead(const http::Response& head) const {
  const ObjectInfo& info = head_.info;
  if (!expectation_.etag.empty() && info.etag != expectation_.etag) {
    Failure failure =
        MakeFailure(FailureClass::kPrecondition, ErrorCode::kFailedPrecondition,
                    fmt::format("the object changed: its etag is {}, not {}", info.etag, expectation_.etag));
    failure.http_status = head.status;
    return failure;
  }
  if (head.status == 200 && head.headers.Has("content-range") && info.size != expectation_.bytes) {
    return MakeFailure(FailureClass::kCorrupt, ErrorCode::kIo,
                       "the answer says that it is the whole object (200) and that it is a range of it");
  }
  const bool all_came = head.status == 200;
  const bool all_wanted =
      expectation_.may_be_shorter ? info.size <= expectation_.bytes : info.size == expectation_.bytes;
  if (FirstByte(head) != expectation_.offset || (all_came && !all_wanted)) {
    return MakeFailure(
        FailureClass::kPermanent, ErrorCode::kUnsupported,
        fmt::format("bytes from {} were asked for and others came: the store ignores ranges", expectation_.offset));
  }
  if (!expectation_.may_be_shorter && expectation_.offset + expectation_.bytes > info.size) {
    return MakeFailure(FailureClass::kPermanent, ErrorCode::kInvalidArgument,
                       fmt::format("the range ends at byte {}, beyond the object's end at {}",
                                   expectation_.offset + expectation_.bytes, info.size));
  }
  return std::nullopt;
}

Status RangeSink::Begin(const http::Response& head) {
  ReadDialect::Read<RangeHead> read = dialect_.ReadGet({expectation_.key, attempt_.url}, head);
  if (read.failure) {
    return Refuse(*std::move(read.failure));
  }
  head_ = std::move(read.value);
  if (auto failure = CheckHead(head)) {
    return Refuse(*std::move(failure));
  }
  end_ = std::min(expectation_.offset + expectation_.bytes, head_.info.size);
  auto targets = place_(head_);
  if (!targets.ok()) {
    return Refuse(MakeFailure(FailureClass::kPermanent, targets.status().code(), targets.status().message()));
  }
  targets_ = *std::move(targets);
  if (checksum_) {
    stream_.emplace(head_.range_checksum  ? head_.range_checksum->kind
                    : head_.info.checksum ? head_.info.checksum->kind
                                          : *checksum_);
  }
  return Status::Ok();
}

Status RangeSink::LayInto(const ReadPiece& target, std::span<const std::byte> chunk) {
  const Overlap overlap = OverlapOf(chunk, position_, target);
  const auto in_file = file_ != nullptr ? file_->OffsetOf(overlap.place) : std::nullopt;
  if (!in_file) {
    Copy(overlap, target);
  } else if (!WriteAllAt(file_->file, overlap.bytes, *in_file)) {
    const Status why = ErrnoStatus(errno, "write", file_->name);
    return Refuse(MakeFailure(FailureClass::kPermanent, why.code(), why.message()));
  }
  return Status::Ok();
}

Status RangeSink::Consume(std::span<const std::byte> chunk) {
  const int64_t chunk_end = position_ + static_cast<int64_t>(chunk.size());
  if (chunk_end > end_) {
    return Refuse(
        MakeFailure(FailureClass::kReset, ErrorCode::kIo,
                    fmt::format("more came than the {} bytes that were asked for", end_ - expectation_.offset)));
  }
  for (; target_ < targets_.size(); ++target_) {
    const ReadPiece& target = targets_[target_];
    ASSAY_RETURN_IF_ERROR(LayInto(target, chunk));
    if (EndOf(target) > chunk_end) {
      break;
    }
  }
  if (stream_) {
    stream_->Update(chunk);
  }
  position_ = chunk_end;
  return Status::Ok();
}

/// Where a target wants the next bytes; between targets, and behind the last, they are dropped or refused. What belongs
/// into a file is received elsewhere.
std::span<std::byte> RangeSink::Memory(size_t most) {
  while (target_ < targets_.size() && EndOf(targets_[target_]) <= position_) {
    ++target_;
  }
  if (target_ == targets_.size() || targets_[target_].offset > position_) {
    return {};
  }
  const ReadPiece& target = targets_[target_];
  if (file_ != nullptr && file_->OffsetOf(target.memory)) {
    return {};
  }
  const auto room = static_cast<size_t>(std::min(EndOf(target), end_) - position_);
  return target.memory.subspan(static_cast<size_t>(position_ - target.offset), std::min(most, room));
}

Status RangeSink::Filled(size_t count) {
  const std::span<const std::byte> came = Memory(count);
  if (stream_) {
    stream_->Update(came);
  }
  position_ += static_cast<int64_t>(came.size());
  return Status::Ok();
}

Status RangeSink::End() {
  if (position_ != end_) {
    return Refuse(
        MakeFailure(FailureClass::kReset, ErrorCode::kIo,
                    fmt::format("{} bytes came where {} were asked for", received(), end_ - expectation_.offset)));
  }
  return Status::Ok();
}

std::optional<Checksum> RangeSink::TakeChecksum() {
  return stream_ ? std::optional<Checksum>(stream_->Finish()) : std::nullopt;
}

}  // namespace assay::storage
