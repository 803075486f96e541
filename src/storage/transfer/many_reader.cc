#include "storage/transfer/many_reader.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "storage/transfer/call_group.h"
#include "storage/transfer/part_plan.h"
#include "storage/transfer/range_call.h"
#include "storage/transfer/single_call.h"
#include "storage/transfer/whole_check.h"

namespace assay::storage {
namespace {

int64_t BytesOf(const ReadPiece& piece) {
  return static_cast<int64_t>(piece.memory.size());
}

class ManyReader {
 public:
  ManyReader(const CallContext& context, std::span<const ObjectRead> reads, const ReadOptions& options,
             std::span<Status> statuses)
      : context_(context),
        reads_(reads),
        options_(options),
        statuses_(statuses),
        calls_(context, {.in_flight = ConnectionsOf(*context.options),
                         .cancel = options.cancel,
                         .stop_at_failure = false,
                         .priority = options.priority}) {}

  std::vector<size_t> Run(int64_t part_bytes) {
    std::vector<size_t> small;
    for (size_t i = 0; i < reads_.size(); ++i) {
      statuses_[i] = context_.dialect->CheckKey(reads_[i].key);
      const int64_t bytes = BytesOf(reads_[i].piece);
      if (statuses_[i].ok()) {
        (bytes == 0 || bytes > part_bytes ? left_ : small).push_back(i);
      }
    }
    for (const size_t i : small) {
      AddRange(i);
    }
    // Each call has told its own end, also when all were given up.
    [[maybe_unused]] const Status all = calls_.WaitAll();
    std::ranges::sort(left_);
    return std::move(left_);
  }

 private:
  void AddRange(size_t i) {
    const ReadPiece& piece = reads_[i].piece;
    const ReadOptions& options = reads_[i].OptionsOr(options_);
    auto call = std::make_unique<RangeCall>(
        *context_.dialect, reads_[i].key, RangeRequest{piece.offset, BytesOf(piece), {piece}},
        [&options] { return options.if_match; }, RangeCallOptions{.verify = options.verify, .memory = context_.memory});
    call->set_on_accepted([this, i, &options](const RangeHead& head, const PartChecksum& part) {
      const bool whole = part.offset == 0 && part.bytes == head.info.size;
      if (options.verify && whole && !head.info.checksum && context_.dialect->traits().head_tells_checksums) {
        AddCheck(i, head.info.etag, part);
      } else {
        Progress(i);
      }
    });
    call->set_on_done([this, i](const CallResult& result) { statuses_[i] = result.status; });
    calls_.Add(std::move(call));
  }

  /// Asks what the store records of the version that was read.
  void AddCheck(size_t i, std::string etag, const PartChecksum& part) {
    calls_.Add(HeadCall(
        context_, "read the checksum of", reads_[i].key,
        [this, i, etag = std::move(etag), part](const ObjectInfo& told) {
          if (told.etag != etag || !Matches(i, part, told)) {
            left_.push_back(i);
          } else {
            Progress(i);
          }
          return std::nullopt;
        },
        [this, i](const CallResult& result) {
          if (!result.status.ok()) {
            statuses_[i] = result.status;
          }
        }));
  }

  bool Matches(size_t i, const PartChecksum& part, const ObjectInfo& info) const {
    const std::optional<Checksum>& recorded = info.checksum;
    return part.bytes == info.size &&
           (!recorded || WholeChecksum(recorded->kind, {part}, std::span(&reads_[i].piece, 1), part.bytes) == recorded);
  }

  /// Where nothing more is asked of what came: bytes that are read again would be told twice.
  void Progress(size_t i) const {
    if (const ReadOptions& options = reads_[i].OptionsOr(options_); options.progress) {
      options.progress(BytesOf(reads_[i].piece));
    }
  }

  const CallContext& context_;
  const std::span<const ObjectRead> reads_;
  const ReadOptions& options_;
  const std::span<Status> statuses_;
  CallGroup calls_;
  std::vector<size_t> left_;
};

}  // namespace

std::vector<size_t> ReadSmall(const CallContext& context, std::span<const ObjectRead> reads, int64_t part_bytes,
                              const ReadOptions& options, std::span<Status> statuses) {
  return ManyReader(context, reads, options, statuses).Run(part_bytes);
}

}  // namespace assay::storage
