#include "checkpoint/tensor/tensor.h"

#include "checkpoint/testing.h"

namespace assay::checkpoint {
namespace {

using testing::HasSubstr;
using testing::Le;

Block BlockOf(Box box, std::shared_ptr<const DataSource> source, DType dtype) {
  const int64_t bytes = BytesOf(dtype, Count(box.sizes));
  Block block = {.box = box, .strides = ContiguousStrides(box.sizes)};
  block.storage = std::make_shared<const Storage>(Storage{std::move(source), 0, bytes});
  return block;
}

/// [6, 8] uint8 in four blocks of [3, 4], each of whose elements is 10 * row + column.
Tensor InQuarters(bool readable_only) {
  Tensor tensor = {.dtype = DType::kUInt8, .shape = {6, 8}};
  for (const int64_t row : {0, 3}) {
    for (const int64_t column : {0, 4}) {
      std::string bytes;
      for (int64_t i = 0; i < 12; ++i) {
        bytes += static_cast<char>(10 * (row + i / 4) + column + i % 4);
      }
      std::shared_ptr<const DataSource> source = SourceOfText(bytes);
      if (readable_only) {
        source = std::make_shared<CountingSource>(bytes);
      }
      tensor.blocks.push_back(BlockOf({{row, column}, {3, 4}}, std::move(source), DType::kUInt8));
    }
  }
  return tensor;
}

TEST(ReadBox, PutsBlocksTogether) {
  for (const bool readable_only : {false, true}) {
    const Tensor tensor = InQuarters(readable_only);
    EXPECT_TRUE(CheckTensor(tensor, "t").ok());
    for (const Box& box : {WholeOf({6, 8}), Box{{2, 3}, {2, 2}}, Box{{5, 7}, {1, 1}}, Box{{0, 4}, {6, 1}}}) {
      std::string bytes(static_cast<size_t>(Count(box.sizes)), '\0');
      ASSERT_TRUE(ReadBox(tensor, box, std::as_writable_bytes(std::span(bytes))).ok());
      for (int64_t i = 0; i < Count(box.sizes); ++i) {
        const int64_t row = box.offsets[0] + i / box.sizes[1];
        const int64_t column = box.offsets[1] + i % box.sizes[1];
        ASSERT_EQ(bytes[static_cast<size_t>(i)], static_cast<char>(10 * row + column));
      }
    }
  }
}

TEST(RowMajorBytes, OfAnyRange) {
  const auto tensor = std::make_shared<const Tensor>(InQuarters(true));
  const std::string whole = BytesOfTensor(tensor);
  EXPECT_EQ(whole[47], 57);
  const auto bytes = RowMajorBytes(tensor);
  for (int64_t begin = 0; begin < 48; begin += 5) {
    EXPECT_EQ(Must(ReadText(*bytes, begin, 48 - begin)), whole.substr(static_cast<size_t>(begin)));
  }
  EXPECT_FALSE(Must(bytes->View(0, 0)).has_value());
}

TEST(RowMajorBytes, AreViewedWhereTheyLieSo) {
  const std::string content = Counting(24);
  const auto tensor = TensorOf(DType::kInt16, {3, 4}, content);
  const auto view = Must(RowMajorBytes(tensor)->View(8, 8));
  ASSERT_TRUE(view.has_value());
  EXPECT_EQ(std::memcmp(view->data(), content.data() + 8, 8), 0);
}

TEST(ReadBox, FetchesRowsAndNotTheWhole) {
  const int64_t rows = 1000;
  const auto source = std::make_shared<CountingSource>(Counting(rows * 400));
  const Tensor tensor = ContiguousTensor(DType::kFloat32, {rows, 100}, source);
  std::string bytes(40 * 400, '\0');
  ASSERT_TRUE(ReadBox(tensor, {{500, 0}, {40, 100}}, std::as_writable_bytes(std::span(bytes))).ok());
  EXPECT_EQ(source->read(), 40 * 400);
  EXPECT_EQ(bytes, Counting(rows * 400).substr(500 * 400, 40 * 400));
  // Short runs are read with what is between them, but not with what lies before and behind.
  std::string column(40 * 4, '\0');
  ASSERT_TRUE(ReadBox(tensor, {{500, 7}, {40, 1}}, std::as_writable_bytes(std::span(column))).ok());
  EXPECT_THAT(source->read() - 40 * 400, Le(40 * 400));
}

TEST(ReadBox, FollowsStrides) {
  const std::string content = "abcdef";
  for (const bool readable_only : {false, true}) {
    std::shared_ptr<const DataSource> source = SourceOfText(content);
    if (readable_only) {
      source = std::make_shared<CountingSource>(content);
    }
    Tensor tensor = ContiguousTensor(DType::kUInt8, {2, 3}, source);
    tensor.shape = {3, 2};
    tensor.blocks[0].box = WholeOf({3, 2});
    tensor.blocks[0].strides = {1, 3};
    EXPECT_EQ(BytesOfTensor(std::make_shared<const Tensor>(tensor)), "adbecf");
  }
}

/// uint8 of that shape and those strides over `content`, which can only be read.
std::shared_ptr<const Tensor> Strided(const std::shared_ptr<CountingSource>& source, Sizes shape, Sizes strides) {
  Tensor tensor = {.dtype = DType::kUInt8, .shape = std::move(shape)};
  const auto storage = std::make_shared<const Storage>(Storage{source, 0, source->bytes()});
  tensor.blocks = {{WholeOf(tensor.shape), std::move(strides), storage, 0}};
  EXPECT_TRUE(CheckTensor(tensor, "t").ok());
  return std::make_shared<const Tensor>(std::move(tensor));
}

TEST(ReadBox, FollowsRowsThatOverlap) {
  const int64_t rows = 3 << 20;
  const std::string content = Counting(4 * (rows + 4));
  const auto source = std::make_shared<CountingSource>(content);
  const std::string bytes = BytesOfTensor(Strided(source, {rows, 4}, {4, 4}));
  for (int64_t i = 0; i < rows * 4; ++i) {
    ASSERT_EQ(bytes[static_cast<size_t>(i)], content[static_cast<size_t>(4 * (i / 4 + i % 4))]) << i;
  }
}

TEST(ReadBox, TakesWhatLiesByColumnsAWindowAtATime) {
  const int64_t rows = 5000;
  const std::string content = Counting(rows * rows);
  const auto source = std::make_shared<CountingSource>(content);
  const std::string bytes = BytesOfTensor(Strided(source, {rows, rows}, {1, rows}));
  for (int64_t i = 0; i < rows * rows; ++i) {
    ASSERT_EQ(bytes[static_cast<size_t>(i)], content[static_cast<size_t>(i / rows + i % rows * rows)]) << i;
  }
  EXPECT_THAT(source->most_at_once(), Le(8 << 20));
  EXPECT_THAT(source->read(), Le(rows * rows * 5 / 4)) << "a column that a window cuts is read again";
}

TEST(Narrow, LiesWhereItLay) {
  const auto whole = std::make_shared<const Tensor>(InQuarters(false));
  const Tensor part = Narrow(*whole, {{2, 3}, {3, 3}});
  EXPECT_TRUE(CheckTensor(part, "part").ok());
  EXPECT_EQ(part.blocks.size(), 4u);
  const std::string bytes = BytesOfTensor(std::make_shared<const Tensor>(part));
  EXPECT_EQ(bytes[0], 23);
  EXPECT_EQ(bytes[8], 45);
}

TEST(CheckTensor, NamesWhatIsWrong) {
  Tensor tensor = InQuarters(false);
  tensor.blocks.pop_back();
  EXPECT_THAT(ErrorOf(CheckTensor(tensor, "t")), HasSubstr("'t' of shape [6, 8] lacks 12 of its 48 elements"));
  tensor.blocks.push_back(tensor.blocks.front());
  EXPECT_THAT(ErrorOf(CheckTensor(tensor, "t")), HasSubstr("twice"));
  tensor = InQuarters(false);
  tensor.blocks[0].storage_offset = 1;
  EXPECT_THAT(ErrorOf(CheckTensor(tensor, "t")), HasSubstr("reaches beyond"));
  tensor.shape = {int64_t{1} << 62, 8};
  EXPECT_THAT(ErrorOf(CheckTensor(tensor, "t")), HasSubstr("impossible shape"));
}

TEST(RowMajorBytes, OfPackedElementsAreReadWhole) {
  const auto tensor = TensorOf(DType::kQUInt4x2, {5}, "abc");
  EXPECT_EQ(tensor->bytes(), 3);
  EXPECT_EQ(BytesOfTensor(tensor), "abc");
  std::string part(1, '\0');
  EXPECT_FALSE(ReadBox(*tensor, {{0}, {2}}, std::as_writable_bytes(std::span(part))).ok());
}

}  // namespace
}  // namespace assay::checkpoint
