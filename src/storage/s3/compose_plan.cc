#include "storage/s3/compose_plan.h"

#include <algorithm>
#include <utility>

namespace assay::storage {
namespace {

class Planner {
 public:
  Planner(int64_t min_part_bytes, int64_t max_part_bytes) : min_(min_part_bytes), max_(max_part_bytes) {}

  void Add(size_t source, int64_t bytes) {
    int64_t offset = 0;
    if (pending_bytes_ > 0) {
      offset = std::min(bytes, min_ - pending_bytes_);
      Pend({source, 0, offset});
    }
    while (bytes - offset >= min_) {
      // What would be left must not be too small to be copied itself.
      const int64_t rest = bytes - offset;
      const int64_t part = rest <= max_ ? rest : std::min(max_, rest - min_);
      parts_.push_back({{{source, offset, part}}, true});
      offset += part;
    }
    if (offset < bytes) {
      Pend({source, offset, bytes - offset});
    }
  }

  std::vector<ComposedPart> Finish() {
    Flush();
    return std::move(parts_);
  }

 private:
  void Pend(SourceRange range) {
    if (range.bytes == 0) {
      return;
    }
    pending_.push_back(range);
    pending_bytes_ += range.bytes;
    if (pending_bytes_ >= min_) {
      Flush();
    }
  }

  void Flush() {
    if (pending_bytes_ > 0) {
      parts_.push_back({std::exchange(pending_, {}), false});
      pending_bytes_ = 0;
    }
  }

  int64_t min_;
  int64_t max_;
  std::vector<SourceRange> pending_;
  int64_t pending_bytes_ = 0;
  std::vector<ComposedPart> parts_;
};

}  // namespace

std::vector<ComposedPart> PlanCompose(std::span<const int64_t> sizes, int64_t min_part_bytes, int64_t max_part_bytes) {
  Planner planner(min_part_bytes, max_part_bytes);
  for (size_t i = 0; i < sizes.size(); ++i) {
    planner.Add(i, sizes[i]);
  }
  return planner.Finish();
}

}  // namespace assay::storage
