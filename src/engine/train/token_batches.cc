#include "engine/train/token_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "engine/model/random_normal.h"
#include "engine/model/status_error.h"
#include "engine/train/batch.h"
#include "engine/train/row_deal.h"

namespace assay::engine {
namespace {

OrderOptions order_of(const data::TokenFile& rows, const TokenBatchOptions& options) {
  return {.rows = rows.rows(),
          .batch_size = options.batch_size,
          .accumulation_steps = options.accumulation_steps * options.ranks,
          .shuffle = options.shuffle,
          .seed = options.seed};
}

data::TokenRowView view_of(const data::TokenRow& row, int64_t max_length) {
  const size_t length = std::min(row.ids.size(), static_cast<size_t>(max_length));
  return {std::span(row.ids).first(length), std::span(row.labels).first(length), row.line};
}

/// Of the row at `place` of a step's, whichever rank it is dealt to.
uint64_t draw_key(uint64_t seed, int64_t step, int64_t place) {
  return stream_key(seed, fmt::format("dropout of row {} of step {}", place, step));
}

}  // namespace

TokenBatches::TokenBatches(data::TokenFile rows, const TokenBatchOptions& options, std::unique_ptr<StreamedRows> stream)
    : rows_(std::move(rows)), options_(options), order_(order_of(rows_, options)), stream_(std::move(stream)) {
  if (row_count() < options.ranks) {
    throw StatusError(Status::InvalidArgument(
        fmt::format("the data set has {} rows, fewer than the {} data ranks that share them: take fewer ranks, or more "
                    "rows",
                    row_count(), options.ranks)));
  }
}

int64_t TokenBatches::length_of(const data::TokenRowView& row) const {
  return options_.prompt_length + static_cast<int64_t>(row.ids.size());
}

int64_t TokenBatches::tokens_of(std::span<const data::TokenRowView> rows) const {
  return std::accumulate(rows.begin(), rows.end(), int64_t{0},
                         [this](int64_t sum, const data::TokenRowView& row) { return sum + length_of(row); });
}

int64_t TokenBatches::supervised_tokens(std::span<const data::TokenRowView> rows) const {
  int64_t count = 0;
  for (const data::TokenRowView& row : rows) {
    const auto supervised = [](int32_t label) { return label != data::kMaskedLabel; };
    // Without a prompt nothing foretells a row's first token.
    const size_t first = options_.prompt_length > 0 || row.labels.empty() ? 0 : 1;
    count += std::ranges::count_if(row.labels.subspan(first), supervised);
  }
  return count;
}

TokenBatches::Deal TokenBatches::deal(int64_t step) {
  Deal deal;
  if (stream_) {
    deal.streamed = stream_->rows_of(step);
    std::ranges::transform(deal.streamed, std::back_inserter(deal.rows),
                           [this](const data::TokenRow& row) { return view_of(row, options_.max_length); });
  } else {
    for (const std::vector<int64_t>& batch : order_.micro_batches(step)) {
      std::ranges::transform(batch, std::back_inserter(deal.rows),
                             [this](int64_t row) { return rows_.row(row, options_.max_length); });
    }
  }
  std::vector<int64_t> tokens;
  std::ranges::transform(deal.rows, std::back_inserter(tokens),
                         [this](const data::TokenRowView& row) { return length_of(row); });
  deal.hands = deal_rows(tokens, options_.ranks);
  return deal;
}

TokenBatches::Views TokenBatches::longest_rows() const {
  Views rows;
  for (int64_t row = 0; row < rows_.rows(); ++row) {
    rows.push_back(rows_.row(row, options_.max_length));
  }
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [this](const data::TokenRowView& row) { return length_of(row); });
  rows.resize(std::min(rows.size(), static_cast<size_t>(options_.batch_size)));
  return rows;
}

std::vector<TokenBatches::Views> TokenBatches::micro_batches_of_all(int64_t step) {
  const Deal dealt = deal(step);
  std::vector<Views> batches;
  for (const std::vector<int64_t>& hand : dealt.hands) {
    for (size_t i = 0; i < hand.size(); ++i) {
      if (i % static_cast<size_t>(options_.batch_size) == 0) {
        batches.emplace_back();
      }
      batches.back().push_back(dealt.rows[static_cast<size_t>(hand[i])]);
    }
  }
  return batches;
}

PackedBatch TokenBatches::largest(int64_t steps, int64_t vocab_size) {
  constexpr int64_t kMostRows = int64_t{1} << 20;
  const int64_t rows_of_step = options_.batch_size * options_.accumulation_steps * options_.ranks;
  const int64_t different = std::max<int64_t>(1, options_.shuffle ? steps : std::min(steps, steps_per_epoch()));
  Views largest = longest_rows();
  int64_t most = -1;
  for (int64_t step = 1; !stream_ && different <= kMostRows / rows_of_step && step <= different; ++step) {
    for (Views& batch : micro_batches_of_all(step)) {
      const int64_t tokens = tokens_of(batch);
      if (tokens > most) {
        most = tokens;
        largest = std::move(batch);
      }
    }
  }
  PackedBatch packed = pack_rows(largest, {.vocab_size = vocab_size, .prompt_length = options_.prompt_length});
  packed.step_supervised = packed.supervised();
  return packed;
}

TokenWindow TokenBatches::window(int64_t step, int64_t vocab_size, c10::Device device) {
  const Deal dealt = deal(step);
  const auto& [streamed, rows, hands] = dealt;
  // Of all ranks: what is wrong with one row ends each of them with the same line.
  for (const data::TokenRowView& row : rows) {
    check_row(row, vocab_size);
  }
  const auto most = static_cast<int64_t>(std::ranges::max(hands, {}, &std::vector<int64_t>::size).size());
  Views own;
  std::vector<uint64_t> keys;
  for (const int64_t place : hands[static_cast<size_t>(options_.rank)]) {
    own.push_back(rows[static_cast<size_t>(place)]);
    keys.push_back(draw_key(options_.seed, step, place));
  }

  TokenWindow window{.supervised_tokens = supervised_tokens(rows)};
  PackOptions pack{.vocab_size = vocab_size, .device = device, .prompt_length = options_.prompt_length};
  for (int64_t begin = 0; begin < most; begin += options_.batch_size) {
    const int64_t end = std::min(begin + options_.batch_size, static_cast<int64_t>(own.size()));
    if (begin < end) {
      const auto first = static_cast<size_t>(begin);
      const auto count = static_cast<size_t>(end - begin);
      pack.row_keys = std::span(keys).subspan(first, count);
      window.batches.push_back(pack_rows(std::span(own).subspan(first, count), pack));
      window.batches.back().step_supervised = window.supervised_tokens;
      ++window.with_rows;
    } else {
      window.batches.push_back(pack_nothing(pack));
    }
  }
  return window;
}

}  // namespace assay::engine
