#include "serve/model_versions.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace assay::serve {
namespace {

using nlohmann::json;

json Since(ModelVersions& versions, std::string_view base) {
  return json::parse(*versions.Since(base));
}

TEST(ModelVersionsTest, WhoHasNoneGetsAll) {
  ModelVersions versions;
  EXPECT_TRUE(versions.empty());
  versions.Set({{"a", 1}, {"b", {1, 2}}});
  const json answer = Since(versions, "");
  EXPECT_EQ(answer.at("parts"), json({{"a", 1}, {"b", {1, 2}}}));
  EXPECT_TRUE(answer.at("base").is_null());
  EXPECT_EQ(answer.at("version"), versions.version());
}

TEST(ModelVersionsTest, WhoHasAnOlderOneGetsWhatDiffers) {
  ModelVersions versions;
  versions.Set({{"a", 1}, {"b", 2}, {"c", 3}});
  const std::string first = versions.version();
  versions.Set({{"a", 1}, {"b", 20}, {"c", 3}});
  versions.Set({{"a", 1}, {"b", 2}, {"c", 30}});
  const json answer = Since(versions, first);
  EXPECT_EQ(answer.at("base"), first);
  EXPECT_EQ(answer.at("parts"), json({{"c", 30}})) << "what changed back did not change";
  EXPECT_EQ(Since(versions, versions.version()).at("parts"), json::object());
}

TEST(ModelVersionsTest, TheSameModelIsNoNewVersionWheneverItWasMade) {
  ModelVersions versions;
  versions.Set({{"a", 1}, {"generated_at", "now"}});
  const std::string first = versions.version();
  versions.Set({{"a", 1}, {"generated_at", "later"}});
  EXPECT_EQ(versions.version(), first);
  EXPECT_EQ(Since(versions, first).at("parts"), json::object());
  versions.Set({{"a", 2}, {"generated_at", "at last"}});
  EXPECT_EQ(Since(versions, first).at("parts"), json({{"a", 2}, {"generated_at", "at last"}}));
}

TEST(ModelVersionsTest, AVersionThatNobodyKnowsIsNone) {
  ModelVersions versions;
  versions.Set({{"a", 1}});
  const std::string first = versions.version();
  for (int i = 0; i < 100; ++i) {
    versions.Set({{"a", i}, {"b", 1}});
  }
  for (const std::string& base : {first, std::string("\"}{"), std::string(5000, 'x')}) {
    const json answer = Since(versions, base);
    EXPECT_TRUE(answer.at("base").is_null());
    EXPECT_EQ(answer.at("parts").size(), 2);
  }
}

}  // namespace
}  // namespace assay::serve
