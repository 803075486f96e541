#include "data/hold_out.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/split_mix.h"
#include "data/token_file.h"

namespace assay::data {
namespace {

/// Of each row whether it is held out: those with the lowest numbers that are drawn of their places.
std::vector<bool> Choose(int64_t rows, int64_t count, uint64_t seed) {
  std::vector<std::pair<uint64_t, int64_t>> drawn;
  for (int64_t row = 0; row < rows; ++row) {
    drawn.emplace_back(SplitMix64(SplitMix64(seed) + static_cast<uint64_t>(row)), row);
  }
  std::ranges::nth_element(drawn, drawn.begin() + count);
  std::vector<bool> chosen(static_cast<size_t>(rows));
  for (int64_t i = 0; i < count; ++i) {
    chosen[static_cast<size_t>(drawn[static_cast<size_t>(i)].second)] = true;
  }
  return chosen;
}

bool HasRows(const std::string& path, int64_t rows, int64_t vocab_size) {
  if (!FileExists(path)) {
    return false;
  }
  const auto file = TokenFile::Open(path);
  return file.ok() && file->rows() == rows && file->vocab_size() == vocab_size && file->CheckIds().ok();
}

Status Write(const TokenFile& all, const std::vector<bool>& chosen, bool wanted, const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(TokenFileWriter writer, TokenFileWriter::Create(path));
  for (int64_t i = 0; i < all.rows(); ++i) {
    if (chosen[static_cast<size_t>(i)] == wanted) {
      const TokenRowView row = all.row(i, INT64_MAX);
      ASSAY_RETURN_IF_ERROR(
          writer.Append({{row.ids.begin(), row.ids.end()}, {row.labels.begin(), row.labels.end()}, row.line}));
    }
  }
  return writer.Finish(all.vocab_size());
}

}  // namespace

Result<HeldOut> HoldOutRows(const std::string& tokens_file, double share, uint64_t seed) {
  ASSAY_ASSIGN_OR_RETURN(const TokenFile all, TokenFile::Open(tokens_file));
  const int64_t count = std::llround(share * static_cast<double>(all.rows()));
  if (count < 1 || count >= all.rows()) {
    return Status::InvalidArgument(fmt::format(
        "a share of {} of {} rows is {}: hold out one at least, and leave one to train on", share, all.rows(), count));
  }
  const std::string stem = fmt::format("{}-{}-{}", tokens_file.substr(0, tokens_file.rfind(".tokens")), count, seed);
  HeldOut files{.train_file = stem + "-train.tokens", .held_out_file = stem + "-held-out.tokens", .rows = count};
  const std::vector<bool> chosen = Choose(all.rows(), count, seed);
  for (const auto& [path, is_held_out, rows] :
       {std::tuple(files.train_file, false, all.rows() - count), std::tuple(files.held_out_file, true, count)}) {
    if (!HasRows(path, rows, all.vocab_size())) {
      ASSAY_RETURN_IF_ERROR(Write(all, chosen, is_held_out, path));
    }
  }
  return files;
}

}  // namespace assay::data
