#include "shards/convert/synthetic.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/split_mix.h"
#include "base/text.h"
#include "image/encode.h"

namespace assay::shards {
namespace {

using Kind = SyntheticRows::Kind;

struct KindRow {
  std::string_view name;
  Kind kind;
  int64_t largest;  // size of a row
  const char* columns;
};

constexpr KindRow kKinds[] = {
    {"text", Kind::kText, int64_t{1} << 30, "completion:str,prompt:str"},
    {"tokens", Kind::kTokens, int64_t{1} << 24, "input_ids:ndarray:int32"},
    {"image", Kind::kImage, 8192, "image:png,label:int"},
};

const KindRow& RowOf(Kind kind) {
  return *std::ranges::find(kKinds, kind, &KindRow::kind);
}

/// The numbers of one row.
class RowDraws {
 public:
  RowDraws(uint64_t seed, int64_t number) : key_(SplitMix64(SplitMix64(seed) ^ static_cast<uint64_t>(number))) {}
  uint64_t Next() { return SplitMix64(key_ + count_++); }
  int64_t Between(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(Next() % static_cast<uint64_t>(most - least + 1));
  }

 private:
  uint64_t key_;
  uint64_t count_ = 0;
};

/// Words of lower-case letters, as often as English has them, with blanks between.
void DrawText(RowDraws& draws, size_t bytes, std::string& text) {
  constexpr std::string_view kLetters = "eeeetttaaaooiinnsshhrrddllcumwfg";
  constexpr size_t kLettersOfNumber = 12;  // five bits each
  text.clear();
  while (text.size() < bytes) {
    uint64_t number = draws.Next();
    const size_t length = 1 + number % kLettersOfNumber % 9;
    number >>= 4;
    for (size_t i = 0; i < length; ++i, number >>= 5) {
      text += kLetters[number % kLetters.size()];
    }
    text += ' ';
  }
  text.resize(bytes);
}

void DrawTokens(RowDraws& draws, size_t count, uint64_t vocabulary, std::string& bytes) {
  bytes.clear();
  for (size_t i = 0; i < count; ++i) {
    const auto id = static_cast<int32_t>(draws.Next() % vocabulary);
    bytes.append(reinterpret_cast<const char*>(&id), sizeof(id));
  }
}

/// A slope of each colour, and two bits of noise.
Status DrawImage(RowDraws& draws, int64_t side, std::string& file) {
  image::Image picture{.width = side, .height = side, .rgb = {}};
  picture.rgb.resize(static_cast<size_t>(image::kChannels * side * side));
  std::array<int64_t, image::kChannels> right{};
  std::array<int64_t, image::kChannels> down{};
  std::ranges::generate(right, [&] { return draws.Between(0, 127); });
  std::ranges::generate(down, [&] { return draws.Between(0, 124); });
  uint8_t* at = picture.rgb.data();
  for (int64_t y = 0; y < side; ++y) {
    for (int64_t x = 0; x < side; ++x) {
      const uint64_t noise = draws.Next();
      for (size_t channel = 0; channel < right.size(); ++channel) {
        const auto bits = static_cast<int64_t>((noise >> (2 * channel)) & 3);
        *at++ = static_cast<uint8_t>((right[channel] * x + down[channel] * y) / side + bits);
      }
    }
  }
  ASSAY_ASSIGN_OR_RETURN(file, image::EncodePng(picture));
  return Status::Ok();
}

Result<int64_t> ParseSize(const KindRow& row, const std::string& text) {
  ASSAY_ASSIGN_OR_RETURN(const int64_t size, ParseBytes(text));
  return size >= 1 && size <= row.largest
             ? Result<int64_t>(size)
             : Status::InvalidArgument(fmt::format("{} of {}: 1 to {} are possible", size, row.name, row.largest));
}

}  // namespace

Status SyntheticRows::SetShape(std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  const auto row = std::ranges::find(kKinds, text.substr(0, colon), &KindRow::name);
  if (row == std::end(kKinds) || colon == text.size()) {
    return Status::InvalidArgument(
        fmt::format("'{}' is no shape: it is text:BYTES, tokens:N or image:PIXELS, or two sizes: text:512-2048", text));
  }
  const std::string_view sizes = text.substr(colon + 1);
  const size_t dash = std::min(sizes.find('-'), sizes.size());
  kind = row->kind;
  ASSAY_ASSIGN_OR_RETURN(least, ParseSize(*row, std::string(sizes.substr(0, dash))));
  most = least;
  if (dash < sizes.size()) {
    ASSAY_ASSIGN_OR_RETURN(most, ParseSize(*row, std::string(sizes.substr(dash + 1))));
  }
  return least <= most ? Status::Ok()
                       : Status::InvalidArgument(fmt::format("the sizes of '{}' fall: name the smaller first", text));
}

std::string SyntheticRows::Name() const {
  return fmt::format("synthetic {}:{}-{} of {}, seed {}", RowOf(kind).name, least, most, values, seed);
}

std::vector<Column> SyntheticRows::Columns() const {
  return *ParseColumns(RowOf(kind).columns);
}

int64_t SyntheticRows::row_bytes() const {
  switch (kind) {
    case Kind::kText:
      return most;
    case Kind::kTokens:
      return most * static_cast<int64_t>(sizeof(int32_t));
    case Kind::kImage:
      break;
  }
  return image::kChannels * most * most;
}

Status SyntheticRows::Draw(int64_t number, Row& row, std::string& memory) const {
  RowDraws draws(seed, number);
  const int64_t size = draws.Between(least, most);
  switch (kind) {
    case Kind::kText: {
      DrawText(draws, static_cast<size_t>(size), memory);
      const size_t prompt = memory.size() / 4;
      row[0].SetText(FieldKind::kText, std::string_view(memory).substr(prompt));
      row[1].SetText(FieldKind::kText, std::string_view(memory).substr(0, prompt));
      return Status::Ok();
    }
    case Kind::kTokens:
      DrawTokens(draws, static_cast<size_t>(size), static_cast<uint64_t>(values), memory);
      row[0].SetText(FieldKind::kArray, memory);
      row[0].dtype = DType::kInt32;
      row[0].shape = {size};
      return Status::Ok();
    case Kind::kImage:
      row[1].SetInteger(draws.Between(0, values - 1));
      ASSAY_RETURN_IF_ERROR(DrawImage(draws, size, memory));
      row[0].SetText(FieldKind::kBytes, memory);
      return Status::Ok();
  }
  return Status::Internal("no such kind of row");
}

}  // namespace assay::shards
