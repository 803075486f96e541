#include "storage/transfer/range_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/part_plan.h"
#include "storage/transfer/range_call.h"
#include "storage/transfer/single_call.h"
#include "storage/transfer/whole_check.h"

namespace assay::storage {
namespace {

/// A whole that does not match its checksum, although each part came in full, is read again so often.
constexpr int kWholeAttempts = 3;

}  // namespace

RangeReader::RangeReader(const CallContext& context, std::string key, const ReadOptions& options)
    : context_(context), key_(std::move(key)), options_(options) {}

RangeReader::~RangeReader() = default;

int64_t RangeReader::part_bytes() const {
  return PlanDownload(0, *context_.options).part_bytes;
}

void RangeReader::AddRange(RangeRequest request, RangeCallOptions options) {
  options.verify = options_.verify;
  options.memory = context_.memory;
  options.file = options_.file;
  if (options_.known != nullptr && options_.known->checksum && IsCombinable(options_.known->checksum->kind)) {
    options.kind = options_.known->checksum->kind;
  }
  auto call = std::make_unique<RangeCall>(
      *context_.dialect, key_, std::move(request), [this] { return etag_; }, std::move(options));
  call->set_on_accepted([this](const RangeHead& head, PartChecksum part) {
    TakeHead(head);
    if (head.info.size != info_.size) {
      other_size_ = head.info.size;
    }
    const int64_t bytes = part.bytes;
    if (options_.on_range) {
      options_.on_range(part);
    }
    checksums_.push_back(std::move(part));
    TellProgress(bytes);
  });
  calls_->Add(std::move(call));
}

void RangeReader::TellProgress(int64_t bytes) {
  accepted_bytes_ += bytes;
  if (options_.progress && accepted_bytes_ > told_bytes_) {
    options_.progress(accepted_bytes_ - std::exchange(told_bytes_, accepted_bytes_));
  }
}

void RangeReader::TakeHead(const RangeHead& head) {
  if (std::exchange(head_taken_, true)) {
    return;
  }
  info_ = head.info;
  etag_ = head.info.etag;
  if (DiffersFromKnown()) {
    waiting_.clear();
    return;
  }
  if (!whole_.empty()) {
    const ReadPiece rest{first_bytes_, whole_.subspan(std::min(whole_.size(), static_cast<size_t>(first_bytes_)))};
    waiting_ = PlanRanges(std::span(&rest, 1), part_bytes());
  }
  const bool whole = options_.verify && CoversWhole();
  for (RangeRequest& request : waiting_) {
    AddRange(std::move(request), {});
  }
  waiting_.clear();
  const bool known = options_.known != nullptr && options_.known->etag == etag_;
  if (known && !info_.checksum) {
    info_.checksum = options_.known->checksum;
  } else if (whole && !info_.checksum && context_.dialect->traits().head_tells_checksums) {
    AskForChecksum();
  }
}

bool RangeReader::CoversWhole() const {
  int64_t end = first_offset_ == 0 ? std::min(first_bytes_, info_.size) : -1;
  for (const RangeRequest& request : waiting_) {
    end = request.offset == end ? end + request.bytes : -1;
  }
  return end == info_.size;
}

void RangeReader::AskForChecksum() {
  calls_->Add(HeadCall(context_, "read the checksum of", key_, [this](ObjectInfo told) {
    info_.checksum = told.checksum;
    asked_ = std::move(told);
    return std::nullopt;
  }));
}

bool RangeReader::DiffersFromKnown() const {
  return options_.known != nullptr && options_.known->etag == etag_ && options_.known->size != info_.size;
}

Status RangeReader::CheckSizes() const {
  std::optional<int64_t> other = other_size_;
  if (DiffersFromKnown()) {
    other = options_.known->size;
  } else if (asked_ && asked_->size != info_.size) {
    other = asked_->size;
  }
  return !other ? Status::Ok()
                : Status::Io(fmt::format("cannot read {}: the store says that it has {} bytes and that it has {}",
                                         context_.dialect->Uri(key_), info_.size, *other));
}

Status RangeReader::VerifyWhole() const {
  const std::string uri = context_.dialect->Uri(key_);
  if (asked_ && asked_->etag != etag_) {
    return ChangedObjectStatus(uri, etag_, asked_->etag);
  }
  ASSAY_RETURN_IF_ERROR(CheckSizes());
  if (!options_.verify || !info_.checksum) {
    return Status::Ok();
  }
  const ReadPiece whole = {0, whole_};
  const auto found =
      WholeChecksum(info_.checksum->kind, checksums_, pieces_.empty() ? std::span(&whole, 1) : pieces_, info_.size);
  return !found || *found == *info_.checksum ? Status::Ok()
                                             : ChecksumMismatchStatus("read", uri, *info_.checksum, *found);
}

bool RangeReader::PrepareAgain() {
  if (asked_ && asked_->etag != etag_) {
    etag_.clear();
    return options_.if_match.empty() && asked_->size == info_.size;
  }
  return !DiffersFromKnown();
}

Task<Result<ObjectInfo>> RangeReader::Run(std::function<void()> add_first) {
  etag_ = options_.if_match;
  const double deadline = DeadlineOf(*context_.options);
  for (int attempt = 1;; ++attempt) {
    head_taken_ = false;
    other_size_.reset();
    asked_.reset();
    checksums_.clear();
    accepted_bytes_ = 0;
    CallGroup::Limits limits;
    limits.in_flight = ConnectionsOf(*context_.options);
    limits.cancel = options_.cancel;
    limits.deadline = deadline;
    limits.priority = options_.priority;
    calls_ = std::make_unique<CallGroup>(context_, limits);
    add_first();
    const Status run = co_await calls_->UntilDone();
    calls_.reset();
    ASSAY_CO_RETURN_IF_ERROR(run);
    const Status verified = VerifyWhole();
    if (verified.ok()) {
      co_return info_;
    }
    if (attempt == kWholeAttempts || !PrepareAgain()) {
      co_return verified;
    }
  }
}

Task<Result<ObjectInfo>> RangeReader::ReadPieces(std::span<const ReadPiece> pieces) {
  requests_ = PlanRanges(pieces, part_bytes());
  pieces_ = pieces;
  return Run([this] {
    const RangeRequest& first = requests_.front();
    first_offset_ = first.offset;
    first_bytes_ = first.bytes;
    waiting_.assign(requests_.begin() + 1, requests_.end());
    RangeCallOptions options;
    options.place = [this, &first](const RangeHead& head) -> Result<std::vector<ReadPiece>> {
      calls_->Post([this, head] { TakeHead(head); });
      return first.targets;
    };
    AddRange(first, std::move(options));
  });
}

Task<Result<ObjectInfo>> RangeReader::ReadWhole(const std::function<MutableBytes(int64_t size)>& allocate,
                                                int64_t first_bytes) {
  first_bytes_ = first_bytes > 0 ? first_bytes : part_bytes();
  return Run([this, &allocate] {
    RangeCallOptions options;
    options.may_be_shorter = true;
    options.place = [this, &allocate](const RangeHead& head) -> Result<std::vector<ReadPiece>> {
      const auto size = static_cast<size_t>(head.info.size);
      if (whole_.empty()) {
        whole_ = allocate(head.info.size);
      }
      if (whole_.size() != size) {
        return Status::InvalidArgument(
            fmt::format("memory of {} bytes was given for an object of {}", whole_.size(), head.info.size));
      }
      // What else is to be asked for is asked while the first bytes come.
      if (head.info.size > first_bytes_ || !head.info.checksum) {
        calls_->Post([this, head] { TakeHead(head); });
      }
      return std::vector<ReadPiece>{{0, whole_}};
    };
    AddRange({0, first_bytes_, {}}, std::move(options));
  });
}

}  // namespace assay::storage
