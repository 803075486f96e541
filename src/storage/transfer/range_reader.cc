#include "storage/transfer/range_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/part_plan.h"
#include "storage/transfer/range_call.h"
#include "storage/transfer/single_call.h"

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
  auto call = std::make_unique<RangeCall>(
      *context_.dialect, key_, std::move(request), [this] { return etag_; }, std::move(options));
  call->set_on_accepted([this](const RangeHead& head, PartChecksum part) {
    TakeHead(head);
    const int64_t bytes = part.bytes;
    if (options_.on_range) {
      options_.on_range(part);
    }
    checksums_.push_back(std::move(part));
    if (options_.progress) {
      options_.progress(bytes);
    }
  });
  runner_->Add(std::move(call));
}

void RangeReader::TakeHead(const RangeHead& head) {
  if (std::exchange(head_taken_, true)) {
    return;
  }
  info_ = head.info;
  etag_ = head.info.etag;
  if (!whole_.empty()) {
    const ReadPiece rest{first_bytes_, whole_.subspan(std::min(whole_.size(), static_cast<size_t>(first_bytes_)))};
    waiting_ = PlanRanges(std::span(&rest, 1), part_bytes());
  }
  int64_t wanted = std::min(first_bytes_, info_.size);
  for (RangeRequest& request : waiting_) {
    wanted += request.bytes;
    AddRange(std::move(request), {});
  }
  const bool ask = !waiting_.empty() && wanted == info_.size && options_.verify && !info_.checksum;
  waiting_.clear();
  if (ask) {
    AskForChecksum();
  }
}

void RangeReader::AskForChecksum() {
  runner_->Add(std::make_unique<FunctionCall>(
      "read the checksum of", key_, [this] { return context_.dialect->Head(key_); },
      [this](http::Response& response) {
        Dialect::Read<ObjectInfo> read = context_.dialect->ReadHead(key_, response);
        if (!read.failure && read.value.etag == etag_) {
          info_.checksum = std::move(read.value.checksum);
        }
        return read.failure;
      }));
}

Status RangeReader::VerifyWhole() const {
  if (!options_.verify || !info_.checksum) {
    return Status::Ok();
  }
  const auto found = CombineParts(checksums_, info_.size);
  if (!found || found->kind != info_.checksum->kind || *found == *info_.checksum) {
    return Status::Ok();
  }
  return ChecksumMismatchStatus("read", context_.dialect->Uri(key_), *info_.checksum, *found);
}

Result<ObjectInfo> RangeReader::Run(const std::function<void()>& add_first) {
  etag_ = options_.if_match;
  for (int attempt = 1;; ++attempt) {
    head_taken_ = false;
    checksums_.clear();
    runner_ = std::make_unique<CallRunner>(
        context_, CallRunner::Limits{.in_flight = ConnectionsOf(*context_.options), .cancel = options_.cancel});
    add_first();
    const Status run = runner_->RunAll();
    runner_.reset();
    ASSAY_RETURN_IF_ERROR(run);
    const Status verified = VerifyWhole();
    if (verified.ok()) {
      return info_;
    }
    if (attempt == kWholeAttempts) {
      return verified;
    }
  }
}

Result<ObjectInfo> RangeReader::ReadPieces(std::span<const ReadPiece> pieces) {
  const std::vector<RangeRequest> requests = PlanRanges(pieces, part_bytes());
  return Run([&] {
    const RangeRequest& first = requests.front();
    first_bytes_ = first.bytes;
    waiting_.assign(requests.begin() + 1, requests.end());
    RangeCallOptions options;
    options.place = [this, &first](const RangeHead& head) -> Result<std::vector<ReadPiece>> {
      runner_->Post([this, head] { TakeHead(head); });
      return first.targets;
    };
    AddRange(first, std::move(options));
  });
}

Result<ObjectInfo> RangeReader::ReadWhole(const std::function<MutableBytes(int64_t size)>& allocate) {
  first_bytes_ = part_bytes();
  return Run([&] {
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
      runner_->Post([this, head] { TakeHead(head); });
      return std::vector<ReadPiece>{{0, whole_}};
    };
    AddRange({0, first_bytes_, {}}, std::move(options));
  });
}

}  // namespace assay::storage
