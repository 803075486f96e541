#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "serve/live_thread.h"

namespace assay::serve {
namespace {

using nlohmann::json;

TEST(LiveViewTest, WhoSaysNothingForLongIsSilent) {
  LiveView view;
  const auto silent = [&](int64_t version, double now) {
    const std::string text = view.Take({{"a", "owner", version, R"({"total":3})"}}, now);
    return json::parse(text).at("operations").at(0).at("silent").get<bool>();
  };
  EXPECT_FALSE(silent(1, 0));
  EXPECT_FALSE(silent(1, 19));
  EXPECT_TRUE(silent(1, 21));
  EXPECT_FALSE(silent(2, 22)) << "it was heard of again";
  EXPECT_FALSE(silent(2, 41));
}

TEST(LiveViewTest, WhoIsSilentForAnHourIsGoneUntilItIsHeardOf) {
  LiveView view;
  const auto shown = [&](int64_t version, double now) {
    return json::parse(view.Take({{"a", "owner", version, R"({"total":3})"}}, now)).at("operations").size();
  };
  EXPECT_EQ(shown(1, 0), 1);
  EXPECT_EQ(shown(1, 3599), 1);
  EXPECT_EQ(shown(1, 3601), 0);
  EXPECT_EQ(shown(2, 3602), 1);
}

TEST(LiveViewTest, IsNeverLargerThanABrowserMayLeaveUnread) {
  LiveView view;
  std::vector<samplestore::Progress> rows;
  for (int i = 0; i < 90; ++i) {
    rows.push_back({fmt::format("uid {}", i), "owner", 1, json({{"text", std::string(6000, 'x')}}).dump()});
  }
  const std::string text = view.Take(rows, 0);
  EXPECT_LT(text.size(), 128u << 10);
  const json told = json::parse(text);
  EXPECT_GT(told.at("operations").size(), 10);
  EXPECT_EQ(told.at("operations").size() + told.at("others").get<size_t>(), rows.size());
}

TEST(LiveViewTest, WhoIsTooLargeTakesNobodyAlong) {
  LiveView view;
  const std::string large = json({{"text", std::string(150'000, 'x')}}).dump();
  const json told = json::parse(view.Take({{"a", "", 1, large}, {"b", "", 1, R"({"total":4})"}}, 0));
  ASSERT_EQ(told.at("operations").size(), 1);
  EXPECT_EQ(told.at("operations").at(0).at("uid"), "b");
  EXPECT_EQ(told.at("others"), 1);
}

TEST(LiveViewTest, DoesNotDescendIntoWhatNestsWithoutEnd) {
  LiveView view;
  for (const size_t depth : {size_t{300}, size_t{50'000}}) {
    const std::string deep = R"({"a":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
    const json told = json::parse(view.Take({{"a", "", 1, deep}, {"b", "", 1, R"({"total":4})"}}, 0));
    EXPECT_EQ(told.at("operations").size(), 1) << depth;
  }
}

TEST(LiveViewTest, ShowsAllThatAreThereAndNothingThatIsNone) {
  LiveView view;
  const json two = json::parse(view.Take({{"a", "", 1, R"({"total":3})"}, {"b", "", 1, R"({"total":4})"}}, 0));
  EXPECT_EQ(two.at("operations").size(), 2);
  EXPECT_EQ(two.at("operations").at(1).at("state").at("total"), 4);
  const json none = json::parse(view.Take({{"c", "", 1, "no JSON"}, {"d", "", 1, "[1]"}}, 0));
  EXPECT_TRUE(none.at("operations").empty());
}

}  // namespace
}  // namespace assay::serve
