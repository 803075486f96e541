#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "serve/live_thread.h"

namespace assay::serve {
namespace {

using nlohmann::json;

/// Of an exploration of so many points, whose name may be long.
std::string StateOf(int total, const std::string& space = "tiny") {
  return json({{"space", space},
               {"host", "here"},
               {"started_at", "2026-01-01T10:00:00Z"},
               {"at", "2026-01-01T10:05:00Z"},
               {"total", total},
               {"done", 0},
               {"waiting", 0},
               {"seconds_left", nullptr},
               {"running", json::array()},
               {"recent", json::array()}})
      .dump();
}

TEST(LiveViewTest, WhoSaysNothingForLongIsSilent) {
  LiveView view;
  const auto silent = [&](int64_t version, double now) {
    return view.Take({{"a", "owner", version, StateOf(3)}}, now).find("no sign of life") != std::string::npos;
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
    return json::parse(view.Take({{"a", "owner", version, StateOf(3)}}, now)).at("count").get<int>();
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
    rows.push_back({fmt::format("uid {}", i), "owner", 1, StateOf(3, std::string(2000, 'x'))});
  }
  const std::string text = view.Take(rows, 0);
  EXPECT_LT(text.size(), 128u << 10);
  const json told = json::parse(text);
  EXPECT_GT(told.at("count"), 10);
  EXPECT_EQ(told.at("count").get<size_t>() + told.at("others").get<size_t>(), rows.size());
}

TEST(LiveViewTest, WhoIsTooLargeTakesNobodyAlong) {
  LiveView view;
  const std::string large = StateOf(3, std::string(150'000, 'x'));
  const json told = json::parse(view.Take({{"a", "", 1, large}, {"b", "", 1, StateOf(4)}}, 0));
  ASSERT_EQ(told.at("count"), 1);
  EXPECT_THAT(told.at("pieces").dump(), ::testing::HasSubstr("0 of 4 points"));
  EXPECT_EQ(told.at("others"), 1);
}

TEST(LiveViewTest, DoesNotDescendIntoWhatNestsWithoutEnd) {
  LiveView view;
  for (const size_t depth : {size_t{300}, size_t{50'000}}) {
    const std::string deep = R"({"a":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
    const json told = json::parse(view.Take({{"a", "", 1, deep}, {"b", "", 1, StateOf(4)}}, 0));
    EXPECT_EQ(told.at("count"), 1) << depth;
  }
}

TEST(LiveViewTest, ShowsAllThatAreThereAndCountsWhatItDoesNotKnow) {
  LiveView view;
  const json two = json::parse(view.Take({{"a", "", 1, StateOf(3)}, {"b", "", 1, StateOf(4)}}, 0));
  EXPECT_EQ(two.at("count"), 2);
  EXPECT_EQ(two.at("pieces").size(), 2);
  EXPECT_THAT(two.at("pieces").at(1).dump(), ::testing::HasSubstr("0 of 4 points"));
  const json none = json::parse(view.Take({{"c", "", 1, "no JSON"}, {"d", "", 1, "[1]"}}, 0));
  EXPECT_TRUE(none.at("pieces").empty());
  EXPECT_EQ(none.at("others"), 2);
}

}  // namespace
}  // namespace assay::serve
