#include "engine/train/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/files.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr int64_t kVocab = 100;
constexpr int32_t kMasked = data::kMaskedLabel;

template <typename T>
std::vector<T> values(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<T>(), tensor.const_data_ptr<T>() + tensor.numel()};
}

PackedBatch pack(const std::vector<data::TokenRow>& rows, int64_t prompt_length = 0) {
  std::vector<data::TokenRowView> views;
  for (const data::TokenRow& row : rows) {
    views.push_back({row.ids, row.labels, row.line});
  }
  return pack_rows(views, {.vocab_size = kVocab, .prompt_length = prompt_length});
}

TEST(PackRows, ShiftsTargetsWithinEachRow) {
  const PackedBatch batch = pack({{{5, 6, 7}, {5, kMasked, 7}}, {{8, 9}, {8, 9}}});
  EXPECT_THAT(values<int64_t>(batch.ids_T), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(values<int64_t>(batch.positions_T), ElementsAre(0, 1, 2, 0, 1));
  EXPECT_THAT(values<int32_t>(batch.row_offsets_R1), ElementsAre(0, 3, 5));
  EXPECT_THAT(batch.row_offsets, ElementsAre(0, 3, 5));
  EXPECT_THAT(values<int64_t>(batch.supervised_positions_S), ElementsAre(1, 3));
  EXPECT_THAT(values<int64_t>(batch.supervised_targets_S), ElementsAre(7, 9));
}

TEST(PackRows, CountsRealSupervisedAndAvoidedPaddingTokens) {
  const PackedBatch batch = pack({{{1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}}, {{1}, {1}}, {{1, 2}, {kMasked, kMasked}}});
  EXPECT_EQ(batch.tokens(), 8);
  EXPECT_EQ(batch.rows(), 3);
  EXPECT_EQ(batch.supervised(), 4) << "the first token of a row is never predicted";
  EXPECT_EQ(batch.padding(), 3 * 5 - 8);
}

TEST(PackRows, APromptComesBeforeEachRowAndForetellsItsFirstToken) {
  const PackedBatch batch = pack({{{5, 6}, {5, 6}}, {{8, 9}, {kMasked, 9}}}, /*prompt_length=*/2);
  EXPECT_THAT(values<int64_t>(batch.ids_T), ElementsAre(0, 0, 5, 6, 0, 0, 8, 9));
  EXPECT_THAT(values<int64_t>(batch.positions_T), ElementsAre(0, 1, 2, 3, 0, 1, 2, 3));
  EXPECT_THAT(values<int64_t>(batch.prompt_places), ElementsAre(0, 1, 4, 5));
  EXPECT_THAT(values<int64_t>(batch.supervised_positions_S), ElementsAre(1, 2, 6));
  EXPECT_THAT(values<int64_t>(batch.supervised_targets_S), ElementsAre(5, 6, 9));
  EXPECT_EQ(batch.tokens(), 8);
  EXPECT_EQ(batch.real_tokens(), 4);
}

TEST(PackRows, ARowWithoutSupervisionIsAllowed) {
  EXPECT_EQ(pack({{{1, 2}, {1, kMasked}}}).supervised(), 0);
}

TEST(PackRows, RefusesIdsOutsideTheVocabulary) {
  EXPECT_THAT([] { pack({{{1, 100}, {1, 100}}}); }, ThrowsMessage<StatusError>(HasSubstr("token id 100")));
  EXPECT_THAT([] { pack({{{-1, 1}, {1, 1}}}); }, ThrowsMessage<StatusError>(HasSubstr("token id -1")));
  EXPECT_THAT([] { pack({{{1, 1}, {1, 7000}}}); }, ThrowsMessage<StatusError>(HasSubstr("label 7000")));
  EXPECT_THAT([] { pack({{{1, 1}, {1, 1}}, {{100, 1}, {1, 1}, 7}}); },
              ThrowsMessage<StatusError>(HasSubstr("the row of line 7 of the data set holds token id 100")));
  EXPECT_THAT([] { pack({{{}, {}}}); }, ThrowsMessage<StatusError>(HasSubstr("no tokens")));
}

TEST(PackRows, CutsRowsOfAFile) {
  auto folder = TemporaryDirectory::Create("batch_test");
  ASSERT_TRUE(folder.ok());
  const std::string path = folder->path() + "/rows.tok";
  const std::vector<data::TokenRow> rows = {{{1, 2, 3, 4}, {1, 2, 3, 4}}, {{5, 6}, {kMasked, 6}}};
  ASSERT_TRUE(data::WriteTokenFile(path, rows, kVocab).ok());
  const auto file = data::TokenFile::Open(path);
  ASSERT_TRUE(file.ok()) << file.status().message();
  const std::vector<int64_t> indices = {1, 0};
  const PackedBatch batch = pack_rows(*file, indices, 3, {.vocab_size = kVocab});
  EXPECT_THAT(values<int64_t>(batch.ids_T), ElementsAre(5, 6, 1, 2, 3));
  EXPECT_THAT(values<int64_t>(batch.supervised_targets_S), ElementsAre(6, 2, 3));
}

}  // namespace
}  // namespace assay::engine
