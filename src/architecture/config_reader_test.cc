#include "architecture/config_reader.h"

#include <gtest/gtest.h>

namespace assay::architecture {
namespace {

using nlohmann::json;

TEST(ConfigReader, ReadsWhatIsThereAndWhatIsNot) {
  const json object = {{"layers", 3}, {"eps", 1e-5}, {"tied", true}, {"act", "silu"}, {"window", nullptr}};
  ConfigReader keys(object, "c");
  EXPECT_EQ(keys.Integer("layers", 1), 3);
  EXPECT_DOUBLE_EQ(keys.Positive("eps"), 1e-5);
  EXPECT_TRUE(keys.BooleanOr("tied", false));
  EXPECT_EQ(keys.Text("act"), "silu");
  EXPECT_EQ(keys.IntegerOr("window", 1, 7), 7) << "null counts as absent";
  EXPECT_TRUE(keys.Contains("window") && !keys.Has("window"));
  EXPECT_TRUE(keys.status().ok());
}

TEST(ConfigReader, KeepsTheFirstErrorAndGoesOnWithLegalValues) {
  const json object = {{"layers", 0}, {"eps", -1}, {"tied", 1}, {"act", 2}, {"rope", {{"factor", "two"}}}};
  ConfigReader keys(object, "c");
  EXPECT_EQ(keys.Integer("layers", 1), 1);
  EXPECT_EQ(keys.Integer("heads", 2), 2);
  EXPECT_EQ(keys.Positive("eps"), 1);
  EXPECT_EQ(keys.NonNegativeOr("eps", 5), 0);
  EXPECT_FALSE(keys.BooleanOr("tied", true));
  EXPECT_EQ(keys.Text("act"), "");
  EXPECT_EQ(keys.status().message(), "c: layers must be an integer of at least 1, not 0");
}

TEST(ConfigReader, TakesTheErrorsOfItsParts) {
  const json object = {{"rope", {{"factor", "two"}}}, {"none", json::object()}};
  ConfigReader keys(object, "c");
  EXPECT_FALSE(keys.Object("none") || keys.Object("absent"));
  auto rope = keys.Object("rope");
  ASSERT_TRUE(rope);
  EXPECT_EQ(rope->Positive("factor"), 1);
  EXPECT_EQ(keys.status().message(), "c: rope: factor must be a number greater than 0, not \"two\"");
}

TEST(ConfigReader, OfWhatIsNoObjectHasNoKeys) {
  const json list = {1, 2};
  ConfigReader keys(list, "c");
  EXPECT_FALSE(keys.Has("layers") || keys.Contains("layers"));
  EXPECT_EQ(keys.Integer("layers", 1), 1);
  EXPECT_EQ(keys.status().message(), "c: must be a JSON object");
}

}  // namespace
}  // namespace assay::architecture
