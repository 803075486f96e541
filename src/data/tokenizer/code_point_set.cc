#include "data/tokenizer/code_point_set.h"

#include <algorithm>
#include <utility>

#include "data/tokenizer/unicode.h"

namespace assay::data {

CodePointSet::CodePointSet(std::vector<Range> ranges) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.first < b.first; });
  for (const Range& range : ranges) {
    if (!ranges_.empty() && range.first <= ranges_.back().last + 1) {
      ranges_.back().last = std::max(ranges_.back().last, range.last);
    } else {
      ranges_.push_back(range);
    }
  }
}

CodePointSet CodePointSet::All() {
  return CodePointSet(std::vector<Range>{{0, kCodePointCount - 1}});
}

bool CodePointSet::Contains(uint32_t code_point) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), code_point,
                                      [](uint32_t c, const Range& range) { return c < range.first; });
  return after != ranges_.begin() && code_point <= std::prev(after)->last;
}

CodePointSet CodePointSet::operator|(const CodePointSet& other) const {
  std::vector<Range> ranges = ranges_;
  ranges.insert(ranges.end(), other.ranges_.begin(), other.ranges_.end());
  return CodePointSet(std::move(ranges));
}

CodePointSet CodePointSet::operator&(const CodePointSet& other) const {
  return ~(~*this | ~other);
}

CodePointSet CodePointSet::operator~() const {
  CodePointSet outside;
  uint32_t next = 0;
  for (const Range& range : ranges_) {
    if (range.first > next) {
      outside.ranges_.push_back({next, range.first - 1});
    }
    next = range.last + 1;
  }
  if (next < kCodePointCount) {
    outside.ranges_.push_back({next, kCodePointCount - 1});
  }
  return outside;
}

}  // namespace assay::data
