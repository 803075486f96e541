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
#include "engine/train/row_packs.h"

namespace assay::engine {
namespace {

std::vector<std::vector<int64_t>> packs_of(const data::TokenFile& rows, const TokenBatchOptions& options) {
  if (!options.packs) {
    return {};
  }
  std::vector<int64_t> lengths;
  for (int64_t row = 0; row < rows.rows(); ++row) {
    lengths.push_back(options.prompt_length + std::ssize(rows.row(row, options.max_length).ids));
  }
  return pack_by_length(lengths, options.max_length);
}

OrderOptions order_of(int64_t packs, const TokenBatchOptions& options) {
  return {.rows = packs,
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
    : rows_(std::move(rows)),
      options_(options),
      packs_(packs_of(rows_, options)),
      order_(order_of(packs_of_file(), options)),
      stream_(std::move(stream)) {
  const int64_t shared = stream_ ? row_count() : packs_of_file();
  if (shared < options.ranks) {
    throw StatusError(Status::InvalidArgument(
        fmt::format("the data set has {} {}rows, fewer than the {} data ranks that share them: take fewer ranks, or "
                    "more rows",
                    shared, options.packs ? "packs of " : "", options.ranks)));
  }
}

int64_t TokenBatches::packs_of_file() const {
  return packs_.empty() ? rows_.rows() : std::ssize(packs_);
}

std::vector<int64_t> TokenBatches::pack(int64_t index) const {
  return packs_.empty() ? std::vector<int64_t>{index} : packs_[static_cast<size_t>(index)];
}

std::vector<int64_t> TokenBatches::Deal::places_of(const std::vector<int64_t>& hand, int64_t batch,
                                                   int64_t size) const {
  std::vector<int64_t> places;
  for (int64_t i = batch * size; i < std::min((batch + 1) * size, std::ssize(hand)); ++i) {
    const std::vector<int64_t>& pack = packs[static_cast<size_t>(hand[static_cast<size_t>(i)])];
    places.insert(places.end(), pack.begin(), pack.end());
  }
  return places;
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
    for (const data::TokenRow& row : deal.streamed) {
      deal.packs.push_back({std::ssize(deal.rows)});
      deal.rows.push_back(view_of(row, options_.max_length));
    }
  } else {
    for (const std::vector<int64_t>& batch : order_.micro_batches(step)) {
      for (const int64_t index : batch) {
        std::vector<int64_t>& places = deal.packs.emplace_back();
        for (const int64_t row : pack(index)) {
          places.push_back(std::ssize(deal.rows));
          deal.rows.push_back(rows_.row(row, options_.max_length));
        }
      }
    }
  }
  std::vector<int64_t> tokens;
  for (const std::vector<int64_t>& places : deal.packs) {
    tokens.push_back(std::accumulate(places.begin(), places.end(), int64_t{0}, [&](int64_t sum, int64_t place) {
      return sum + length_of(deal.rows[static_cast<size_t>(place)]);
    }));
  }
  deal.hands = deal_rows(tokens, options_.ranks);
  return deal;
}

TokenBatches::Views TokenBatches::longest_rows() const {
  std::vector<std::pair<int64_t, int64_t>> packs;  // with their tokens, to sort by them
  for (int64_t index = 0; index < packs_of_file(); ++index) {
    int64_t tokens = 0;
    for (const int64_t row : pack(index)) {
      tokens += length_of(rows_.row(row, options_.max_length));
    }
    packs.emplace_back(-tokens, index);
  }
  std::ranges::sort(packs);
  packs.resize(std::min(packs.size(), static_cast<size_t>(options_.batch_size)));
  Views rows;
  for (const auto& [tokens, index] : packs) {
    for (const int64_t row : pack(index)) {
      rows.push_back(rows_.row(row, options_.max_length));
    }
  }
  return rows;
}

std::vector<TokenBatches::Views> TokenBatches::micro_batches_of_all(int64_t step) {
  const Deal dealt = deal(step);
  std::vector<Views> batches;
  for (const std::vector<int64_t>& hand : dealt.hands) {
    for (int64_t batch = 0; batch * options_.batch_size < std::ssize(hand); ++batch) {
      Views& rows = batches.emplace_back();
      for (const int64_t place : dealt.places_of(hand, batch, options_.batch_size)) {
        rows.push_back(dealt.rows[static_cast<size_t>(place)]);
      }
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
  // Of all ranks: what is wrong with one row ends each of them with the same line.
  for (const data::TokenRowView& row : dealt.rows) {
    check_row(row, vocab_size);
  }
  const auto most = std::ssize(std::ranges::max(dealt.hands, {}, &std::vector<int64_t>::size));
  const std::vector<int64_t>& hand = dealt.hands[static_cast<size_t>(options_.rank)];
  TokenWindow window{.supervised_tokens = supervised_tokens(dealt.rows)};
  for (int64_t batch = 0; batch * options_.batch_size < most; ++batch) {
    Views own;
    std::vector<uint64_t> keys;
    for (const int64_t place : dealt.places_of(hand, batch, options_.batch_size)) {
      own.push_back(dealt.rows[static_cast<size_t>(place)]);
      keys.push_back(draw_key(options_.seed, step, place));
    }
    const PackOptions pack{
        .vocab_size = vocab_size, .device = device, .row_keys = keys, .prompt_length = options_.prompt_length};
    window.batches.push_back(own.empty() ? pack_nothing(pack) : pack_rows(own, pack));
    if (!own.empty()) {
      window.batches.back().step_supervised = window.supervised_tokens;
      ++window.with_rows;
    }
  }
  return window;
}

}  // namespace assay::engine
