#include "data/tokenizer/regex_unicode.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <vector>

namespace assay::data {
namespace {

struct PropertyRow {
  std::string_view key;
  uint32_t begin;  // in kPropertySteps: lengths outside and inside the property, in turn
  uint32_t count;
};

// Equal where case is ignored; 0 fills up.
struct FoldingClass {
  uint32_t members[4];
};

#include "data/tokenizer/regex_tables.inc"

std::string PlainName(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (c != ' ' && c != '_' && c != '-') {
      plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    }
  }
  return plain;
}

const PropertyRow* FindRow(std::string_view key) {
  const auto* row = std::lower_bound(std::begin(kProperties), std::end(kProperties), key,
                                     [](const PropertyRow& a, std::string_view b) { return a.key < b; });
  return row != std::end(kProperties) && row->key == key ? row : nullptr;
}

CodePointSet Members(const PropertyRow& row) {
  std::vector<CodePointSet::Range> ranges;
  uint32_t at = 0;
  for (uint32_t i = row.begin; i < row.begin + row.count; i += 2) {
    const uint32_t first = at + kPropertySteps[i];
    at = first + kPropertySteps[i + 1];
    ranges.push_back({first, at - 1});
  }
  return CodePointSet(std::move(ranges));
}

std::unordered_map<uint32_t, uint32_t> BuildFoldedForms() {
  std::unordered_map<uint32_t, uint32_t> folded;
  for (const FoldingClass& same : kFoldingClasses) {
    for (const uint32_t member : same.members) {
      folded.emplace(member, same.members[0]);
    }
  }
  folded.erase(0);
  return folded;
}

}  // namespace

std::optional<CodePointSet> FindProperty(std::string_view name, PropertyPlace place) {
  const std::string plain = PlainName(name);
  const PropertyRow* row = place == PropertyPlace::kPosixName  ? FindRow(":" + plain)
                           : place == PropertyPlace::kBrackets ? FindRow("[" + plain)
                                                               : FindRow(plain);
  if (row == nullptr && place == PropertyPlace::kBrackets) {
    row = FindRow(plain);
  }
  return row == nullptr ? std::nullopt : std::optional<CodePointSet>(Members(*row));
}

CodePointSet CloseOverCase(const CodePointSet& set) {
  std::vector<CodePointSet::Range> more;
  for (const FoldingClass& same : kFoldingClasses) {
    const auto is_member = [&](uint32_t c) { return c != 0 && set.Contains(c); };
    if (std::any_of(std::begin(same.members), std::end(same.members), is_member)) {
      for (const uint32_t member : same.members) {
        more.push_back({member, member});
      }
    }
  }
  std::erase_if(more, [](const CodePointSet::Range& range) { return range.first == 0; });
  return set | CodePointSet(std::move(more));
}

uint32_t FoldedCase(uint32_t code_point) {
  static const std::unordered_map<uint32_t, uint32_t> folded = BuildFoldedForms();
  const auto found = folded.find(code_point);
  return found == folded.end() ? code_point : found->second;
}

std::span<const MultipleFolding> MultipleFoldings() {
  return kMultipleFoldings;
}

}  // namespace assay::data
