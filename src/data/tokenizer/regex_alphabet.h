// The characters of a regular expression: code points that it cannot tell apart are one symbol.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/tokenizer/code_point_set.h"

namespace assay::data {

/// Splits Unicode into the coarsest parts of which every set of a pattern is a union, one byte for each part. A pattern
/// over these bytes knows nothing of Unicode. Immutable, so safe from several threads.
class RegexAlphabet {
 public:
  /// Unsupported when `sets` need more than 256 parts.
  static Result<RegexAlphabet> Create(const std::vector<const CodePointSet*>& sets);

  /// The symbols of `set`, a union of parts.
  std::vector<uint8_t> Symbols(const CodePointSet& set) const;
  size_t size() const { return samples_.size(); }

  /// `text`, valid UTF-8, as symbols: one for each code point.
  std::string Translate(std::string_view text) const;

 private:
  using Page = std::array<uint8_t, 256>;

  RegexAlphabet() = default;
  void SharePages(const std::vector<uint8_t>& symbols);

  std::vector<uint32_t> samples_;  // a code point of every part
  std::vector<uint16_t> page_of_;  // for code point / 256
  std::vector<Page> pages_;
};

}  // namespace assay::data
