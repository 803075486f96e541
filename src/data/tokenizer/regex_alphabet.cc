#include "data/tokenizer/regex_alphabet.h"

#include <algorithm>
#include <map>
#include <utility>

#include "data/tokenizer/unicode.h"

namespace assay::data {
namespace {

constexpr size_t kMaxSymbols = 256;

// Where membership in any of `sets` changes, with 0 and without the end of Unicode.
std::vector<uint32_t> Boundaries(const std::vector<const CodePointSet*>& sets) {
  std::vector<uint32_t> boundaries = {0};
  for (const CodePointSet* set : sets) {
    for (const CodePointSet::Range& range : set->ranges()) {
      boundaries.push_back(range.first);
      boundaries.push_back(range.last + 1);
    }
  }
  std::sort(boundaries.begin(), boundaries.end());
  boundaries.erase(std::unique(boundaries.begin(), boundaries.end()), boundaries.end());
  if (boundaries.back() == kCodePointCount) {
    boundaries.pop_back();
  }
  return boundaries;
}

// Splits the parts, numbers for stretches that begin at `boundaries`, by membership in `set`; returns how many there
// are.
size_t Refine(const std::vector<uint32_t>& boundaries, const CodePointSet& set, std::vector<uint32_t>* parts) {
  std::map<std::pair<uint32_t, bool>, uint32_t> refined;
  auto range = set.ranges().begin();
  for (size_t i = 0; i < boundaries.size(); ++i) {
    while (range != set.ranges().end() && range->last < boundaries[i]) {
      ++range;
    }
    const bool inside = range != set.ranges().end() && range->first <= boundaries[i];
    const auto next = static_cast<uint32_t>(refined.size());
    (*parts)[i] = refined.emplace(std::pair((*parts)[i], inside), next).first->second;
  }
  return refined.size();
}

}  // namespace

Result<RegexAlphabet> RegexAlphabet::Create(const std::vector<const CodePointSet*>& sets) {
  const std::vector<uint32_t> boundaries = Boundaries(sets);
  std::vector<uint32_t> parts(boundaries.size(), 0);
  size_t count = 1;
  for (const CodePointSet* set : sets) {
    count = Refine(boundaries, *set, &parts);
    if (count > kMaxSymbols) {
      return Status::Unsupported("more than 256 kinds of characters");
    }
  }
  RegexAlphabet alphabet;
  alphabet.samples_.resize(count);
  std::vector<uint8_t> symbols(kCodePointCount);
  for (size_t i = 0; i < boundaries.size(); ++i) {
    const uint32_t end = i + 1 < boundaries.size() ? boundaries[i + 1] : kCodePointCount;
    std::fill(symbols.begin() + boundaries[i], symbols.begin() + end, static_cast<uint8_t>(parts[i]));
    alphabet.samples_[parts[i]] = boundaries[i];
  }
  alphabet.SharePages(symbols);
  return alphabet;
}

void RegexAlphabet::SharePages(const std::vector<uint8_t>& symbols) {
  std::map<Page, uint16_t> known;
  for (size_t first = 0; first < symbols.size(); first += std::tuple_size_v<Page>) {
    Page page;
    std::copy_n(symbols.begin() + static_cast<ptrdiff_t>(first), page.size(), page.begin());
    const auto [entry, added] = known.emplace(page, static_cast<uint16_t>(pages_.size()));
    if (added) {
      pages_.push_back(page);
    }
    page_of_.push_back(entry->second);
  }
}

std::vector<uint8_t> RegexAlphabet::Symbols(const CodePointSet& set) const {
  std::vector<uint8_t> symbols;
  for (size_t i = 0; i < samples_.size(); ++i) {
    if (set.Contains(samples_[i])) {
      symbols.push_back(static_cast<uint8_t>(i));
    }
  }
  return symbols;
}

std::string RegexAlphabet::Translate(std::string_view text) const {
  std::string symbols(text.size(), '\0');
  const Page& ascii = pages_[page_of_[0]];
  size_t count = 0;
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x80) {
      symbols[count++] = static_cast<char>(ascii[byte]);
      ++i;
      continue;
    }
    const CodePoint c = DecodeUtf8(text.data() + i);
    symbols[count++] = static_cast<char>(pages_[page_of_[c.value >> 8]][c.value & 0xFF]);
    i += c.bytes;
  }
  symbols.resize(count);
  return symbols;
}

}  // namespace assay::data
