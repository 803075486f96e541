#include "data/hold_out.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/files.h"
#include "data/token_file.h"

namespace assay::data {
namespace {

/// Rows of one id each, which is their number.
std::string WriteRows(const std::string& path, int32_t count) {
  std::vector<TokenRow> rows;
  for (int32_t i = 0; i < count; ++i) {
    rows.push_back({.ids = {i, i}, .labels = {kMaskedLabel, i}, .line = i + 1});
  }
  EXPECT_TRUE(WriteTokenFile(path, rows, count).ok());
  return path;
}

std::vector<int32_t> RowsOf(const std::string& path) {
  const auto file = TokenFile::Open(path);
  EXPECT_TRUE(file.ok()) << file.status().message();
  std::vector<int32_t> rows;
  for (int64_t i = 0; i < file->rows(); ++i) {
    rows.push_back(file->row(i, 9).ids[0]);
    EXPECT_EQ(file->row(i, 9).line, rows.back() + 1);
  }
  return rows;
}

TEST(HoldOutRows, EveryRowIsInOneOfTheFilesInItsOrder) {
  const auto directory = TemporaryDirectory::Create("hold_out_test");
  ASSERT_TRUE(directory.ok());
  const std::string all = WriteRows(directory->path() + "/rows.tokens", 200);
  const auto files = HoldOutRows(all, 0.1, 42);
  ASSERT_TRUE(files.ok()) << files.status().message();
  const std::vector<int32_t> train = RowsOf(files->train_file);
  const std::vector<int32_t> held_out = RowsOf(files->held_out_file);
  EXPECT_EQ(files->rows, 20);
  EXPECT_EQ(held_out.size(), 20U);
  EXPECT_TRUE(std::ranges::is_sorted(train) && std::ranges::is_sorted(held_out));
  std::set<int32_t> both(train.begin(), train.end());
  both.insert(held_out.begin(), held_out.end());
  EXPECT_EQ(both.size(), 200U);
  EXPECT_LT(held_out.front(), 60) << "not the last rows of the file";
}

TEST(HoldOutRows, FollowsFromTheSeed) {
  const auto directory = TemporaryDirectory::Create("hold_out_test");
  ASSERT_TRUE(directory.ok());
  const std::string all = WriteRows(directory->path() + "/rows.tokens", 50);
  const auto rows_of = [&](uint64_t seed) { return RowsOf(HoldOutRows(all, 0.2, seed)->held_out_file); };
  EXPECT_EQ(rows_of(1), rows_of(1));
  EXPECT_NE(rows_of(1), rows_of(2));
}

TEST(HoldOutRows, RefusesNoneAndAll) {
  const auto directory = TemporaryDirectory::Create("hold_out_test");
  ASSERT_TRUE(directory.ok());
  const std::string all = WriteRows(directory->path() + "/rows.tokens", 4);
  EXPECT_EQ(HoldOutRows(all, 0.1, 1).status().message(),
            "a share of 0.1 of 4 rows is 0: hold out one at least, and leave one to train on");
  EXPECT_FALSE(HoldOutRows(all, 0.95, 1).ok());
}

}  // namespace
}  // namespace assay::data
