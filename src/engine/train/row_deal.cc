#include "engine/train/row_deal.h"

#include <algorithm>
#include <numeric>

namespace assay::engine {
namespace {

struct Hand {
  std::vector<int64_t> rows;
  int64_t tokens = 0;
};

/// Rows that each rank may still have when `rows` of them are to be dealt evenly: `least`, and one more for some.
class Deal {
 public:
  Deal(int64_t rows, int64_t ranks) : hands_(static_cast<size_t>(ranks)), least_(rows / ranks), more_(rows % ranks) {}

  void give(int64_t row, int64_t tokens) {
    Hand* fewest = nullptr;
    for (Hand& hand : hands_) {
      if (may_take(hand) && (fewest == nullptr || hand.tokens < fewest->tokens)) {
        fewest = &hand;
      }
    }
    more_ -= static_cast<int64_t>(fewest->rows.size()) == least_ ? 1 : 0;
    fewest->rows.push_back(row);
    fewest->tokens += tokens;
  }

  std::vector<std::vector<int64_t>> finish() {
    std::vector<std::vector<int64_t>> rows;
    for (Hand& hand : hands_) {
      std::ranges::sort(hand.rows);
      rows.push_back(std::move(hand.rows));
    }
    return rows;
  }

 private:
  bool may_take(const Hand& hand) const {
    const auto has = static_cast<int64_t>(hand.rows.size());
    return has < least_ || (has == least_ && more_ > 0);
  }

  std::vector<Hand> hands_;
  int64_t least_;
  int64_t more_;  ///< ranks that may yet have one more
};

}  // namespace

std::vector<std::vector<int64_t>> deal_rows(std::span<const int64_t> tokens, int64_t ranks) {
  std::vector<int64_t> longest_first(tokens.size());
  std::iota(longest_first.begin(), longest_first.end(), 0);
  std::ranges::stable_sort(longest_first, std::ranges::greater(), [&](int64_t row) { return tokens[row]; });
  Deal deal(static_cast<int64_t>(tokens.size()), ranks);
  for (const int64_t row : longest_first) {
    deal.give(row, tokens[row]);
  }
  return deal.finish();
}

}  // namespace assay::engine
