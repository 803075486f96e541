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
