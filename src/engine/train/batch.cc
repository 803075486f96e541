#include "engine/train/batch.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/random_normal.h"
#include "engine/model/status_error.h"
#include "engine/train/device.h"

namespace assay::engine {
namespace {

/// The host side of a batch, in the order of the packed tokens.
struct PackedRows {
  std::vector<int64_t> ids;
  std::vector<int64_t> positions;
  std::vector<int64_t> offsets = {0};
  std::vector<int64_t> supervised_positions;
  std::vector<int64_t> supervised_targets;
  std::vector<int64_t> prompt_places;
  int64_t longest_row = 0;

  void append(const data::TokenRowView& row, int64_t prompt_length);
};

void PackedRows::append(const data::TokenRowView& row, int64_t prompt_length) {
  const int64_t base = offsets.back();
  const auto length = prompt_length + static_cast<int64_t>(row.ids.size());
  for (int64_t i = 0; i < length; ++i) {
    const bool is_prompt = i < prompt_length;
    ids.push_back(is_prompt ? 0 : row.ids[i - prompt_length]);
    positions.push_back(i);
    if (is_prompt) {
      prompt_places.push_back(base + i);
    } else if (i > 0 && row.labels[i - prompt_length] != data::kMaskedLabel) {
      supervised_positions.push_back(base + i - 1);
      supervised_targets.push_back(row.labels[i - prompt_length]);
    }
  }
  offsets.push_back(base + length);
  longest_row = std::max(longest_row, length);
}

template <typename T>
at::Tensor tensor_of(const std::vector<T>& values, c10::Device device) {
  const auto options =
      at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value).pinned_memory(device.is_cuda() && !values.empty());
  at::Tensor host = at::empty({static_cast<int64_t>(values.size())}, options);
  std::copy(values.begin(), values.end(), host.template mutable_data_ptr<T>());
  return to_device(host, device);
}

std::string name_of(const data::TokenRowView& row) {
  return row.line > 0 ? fmt::format("the row of line {}", row.line) : "a row";
}

[[noreturn]] void refuse(const data::TokenRowView& row, std::string_view what) {
  throw StatusError(Status::InvalidArgument(fmt::format("{} of the data set {}", name_of(row), what)));
}

void check_entry(const data::TokenRowView& row, std::string_view what, int64_t value, int64_t vocab_size) {
  if (value < 0 || value >= vocab_size) {
    refuse(row, fmt::format("holds {} {}, but the model's vocabulary has {} entries (tokenise with this model's own "
                            "tokeniser)",
                            what, value, vocab_size));
  }
}

std::vector<int64_t> token_keys(std::span<const int64_t> offsets, std::span<const uint64_t> row_keys) {
  std::vector<int64_t> keys(static_cast<size_t>(offsets.back()));
  for (size_t row = 0; row < row_keys.size(); ++row) {
    const auto begin = static_cast<size_t>(offsets[row]);
    fill_keys(std::span(keys).subspan(begin, static_cast<size_t>(offsets[row + 1]) - begin), row_keys[row]);
  }
  return keys;
}

}  // namespace

void check_row(const data::TokenRowView& row, int64_t vocab_size) {
  if (row.ids.empty()) {
    refuse(row, "has no tokens (remove empty rows)");
  }
  for (const int32_t id : row.ids) {
    check_entry(row, "token id", id, vocab_size);
  }
  for (const int32_t label : row.labels) {
    if (label != data::kMaskedLabel) {
      check_entry(row, "label", label, vocab_size);
    }
  }
}

PackedBatch pack_rows(std::span<const data::TokenRowView> rows, const PackOptions& options) {
  PackedRows packed;
  for (const data::TokenRowView& row : rows) {
    check_row(row, options.vocab_size);
    packed.append(row, options.prompt_length);
  }
  const c10::Device device = options.device;
  return {
      .ids_T = tensor_of(packed.ids, device),
      .positions_T = tensor_of(packed.positions, device),
      .row_offsets_R1 = tensor_of(std::vector<int32_t>(packed.offsets.begin(), packed.offsets.end()), device),
      .row_offsets = packed.offsets,
      .longest_row = packed.longest_row,
      .supervised_positions_S = tensor_of(packed.supervised_positions, device),
      .supervised_targets_S = tensor_of(packed.supervised_targets, device),
      .prompt_length = options.prompt_length,
      .prompt_places = tensor_of(packed.prompt_places, device),
      .draw_keys_T =
          options.row_keys.empty() ? at::Tensor() : tensor_of(token_keys(packed.offsets, options.row_keys), device),
      .row_keys = {options.row_keys.begin(), options.row_keys.end()},
  };
}

PackedBatch pack_nothing(PackOptions options) {
  constexpr std::array<int32_t, 1> kId = {0};
  constexpr std::array<int32_t, 1> kLabel = {data::kMaskedLabel};
  constexpr std::array<uint64_t, 1> kKey = {0};
  const std::array<data::TokenRowView, 1> rows = {{{kId, kLabel, 0}}};
  options.row_keys = kKey;
  return pack_rows(rows, options);
}

PackedBatch pack_rows(const data::TokenFile& file, std::span<const int64_t> indices, int64_t max_length,
                      const PackOptions& options) {
  std::vector<data::TokenRowView> rows;
  rows.reserve(indices.size());
  for (const int64_t index : indices) {
    rows.push_back(file.row(index, max_length));
  }
  return pack_rows(rows, options);
}

}  // namespace assay::engine
