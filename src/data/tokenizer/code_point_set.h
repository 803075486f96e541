// Sets of Unicode code points, as the character classes of regular expressions need them.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::data {

/// A set of code points, kept as ranges in ascending order that neither overlap nor touch.
class CodePointSet {
 public:
  struct Range {
    uint32_t first;
    uint32_t last;
  };

  CodePointSet() = default;
  explicit CodePointSet(uint32_t only) : ranges_{{only, only}} {}
  /// The union of `ranges`, which may come in any order and overlap.
  explicit CodePointSet(std::vector<Range> ranges);

  static CodePointSet All();

  bool Contains(uint32_t code_point) const;
  bool empty() const { return ranges_.empty(); }
  const std::vector<Range>& ranges() const { return ranges_; }

  CodePointSet operator|(const CodePointSet& other) const;
  CodePointSet operator&(const CodePointSet& other) const;
  /// All code points that are not in the set.
  CodePointSet operator~() const;

 private:
  std::vector<Range> ranges_;
};

}  // namespace assay::data
