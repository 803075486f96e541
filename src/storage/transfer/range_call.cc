#include "storage/transfer/range_call.h"

#include <fmt/format.h>

#include "storage/transfer/object_headers.h"

namespace assay::storage {
namespace {

/// Below this a second copy is not worth a request.
constexpr int64_t kReissueFromBytes = int64_t{1} << 20;

}  // namespace

RangeCall::RangeCall(const ReadDialect& dialect, std::string key, RangeRequest request, Etag etag,
                     RangeCallOptions options)
    : dialect_(dialect),
      key_(std::move(key)),
      request_(std::move(request)),
      etag_(std::move(etag)),
      options_(std::move(options)) {}

std::string RangeCall::operation() const {
  return fmt::format("read bytes {} to {} of", request_.offset, request_.offset + request_.bytes - 1);
}

RangeSink::Placement RangeCall::PlacementFor(const Attempt& attempt) {
  if (attempt.reissue) {
    return [memory = private_memory_.bytes(), offset = request_.offset](
               const RangeHead&) -> Result<std::vector<ReadPiece>> { return std::vector<ReadPiece>{{offset, memory}}; };
  }
  if (options_.place) {
    return options_.place;
  }
  return [this](const RangeHead&) -> Result<std::vector<ReadPiece>> { return request_.targets; };
}

void RangeCall::Prepare(Attempt& attempt) {
  const std::string etag = etag_ ? etag_() : std::string();
  attempt.outgoing = dialect_.Get(key_, request_.offset, request_.bytes, etag);
  const ChecksumKind kind = options_.kind.value_or(dialect_.traits().checksum);
  auto sink = std::make_unique<RangeSink>(
      dialect_, attempt, RangeExpectation{key_, etag, request_.offset, request_.bytes, options_.may_be_shorter},
      options_.verify ? std::optional(kind) : std::nullopt, PlacementFor(attempt));
  sink->set_file(options_.file);
  attempt.sink = std::move(sink);
}

std::optional<Failure> RangeCall::Accept(Attempt& attempt, http::Response& response) {
  auto& sink = static_cast<RangeSink&>(*attempt.sink);
  const RangeHead& head = sink.head();
  if (auto failure = FailureWithoutEtag(head.info)) {
    return failure;
  }
  PartChecksum part{request_.offset, sink.received(), {}};
  if (auto checksum = sink.TakeChecksum()) {
    part.checksum = *std::move(checksum);
    const bool whole = part.offset == 0 && part.bytes == head.info.size;
    const std::optional<Checksum>& said = whole && !head.range_checksum ? head.info.checksum : head.range_checksum;
    if (said && *said != part.checksum) {
      return MakeFailure(FailureClass::kCorrupt, ErrorCode::kIo,
                         fmt::format("{} of what came is {}, the store says {}", NameOf(part.checksum.kind),
                                     part.checksum.Hex(), said->Hex()));
    }
  }
  if (attempt.reissue) {
    Scatter(private_memory_.bytes().first(static_cast<size_t>(part.bytes)), request_.offset, request_.targets);
  }
  if (on_accepted_) {
    on_accepted_(head, std::move(part));
  }
  return std::nullopt;
}

bool RangeCall::PrepareReissue() {
  if (options_.memory == nullptr) {
    return false;
  }
  // Of an earlier attempt's second copy, which has landed.
  private_memory_ = {};
  std::optional<PooledMemory> memory = options_.memory->TryTake(request_.bytes);
  if (!memory) {
    return false;
  }
  memory->SetMoving();
  private_memory_ = *std::move(memory);
  return true;
}

void RangeCall::Done(const CallResult& result) {
  if (on_done_) {
    on_done_(result);
  }
}

std::optional<std::pair<Direction, int64_t>> RangeCall::volume() const {
  // Where the memory is known with the headers only, a second copy would not know what it may write.
  if (options_.place || request_.bytes < kReissueFromBytes) {
    return std::nullopt;
  }
  return std::pair(Direction::kGet, request_.bytes);
}

}  // namespace assay::storage
