#include "serve/live_pieces.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <string>

namespace assay::serve {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

json Exploration() {
  return json::parse(R"({
    "space": "tiny <b>", "host": "here", "started_at": "2026-01-01T10:00:00Z", "at": "2026-01-01T23:58:10Z",
    "total": 5, "done": 2, "measured": 1, "ended_early": 1, "waiting": 1, "seconds_left": 300, "more_running": 3,
    "running": [
      {"label": "batch_size 1", "seconds": 4.0, "phase": "training", "step": 3, "steps": 6, "loss": 2.5, "rate": 1234.6,
       "unit": "tokens/s", "seconds_left": 75, "losses": [[1, 3], [2, null], [3, 2.5]]},
      {"label": "batch_size 2", "seconds": 4.0, "phase": "loading", "losses": []}],
    "recent": [
      {"label": "batch_size 4", "outcome": "ended_early", "replayed": false, "reason": "far behind", "seconds": 90,
       "uid": "abc"},
      {"label": "batch_size 8", "outcome": "failed", "replayed": false, "reason": "killed", "seconds": 0, "uid": ""}]
  })");
}

std::string Shown(const json& state, bool silent = false) {
  report::Markup html;
  WriteExploration(html, state, silent);
  return std::move(html).Finish();
}

TEST(LivePiecesTest, HasPointsStepsLossesAndWhatIsLeft) {
  const std::string html = Shown(Exploration());
  for (const char* text : {"tiny &lt;b&gt; on here", "since 10:00 UTC", "2 of 5 points", "1 measured", "1 ended early",
                           "1 measured by others", "at most 5m00s left, until 00:03 UTC", "step 3 of 6", "loss 2.50",
                           "1,235 tokens/s", "1m15s left", "M1 -3L3 -2.5", "loading \u00b7 for 4.00 s", "and 3 more",
                           "ended early", "1m30s \u00b7 far behind"}) {
    EXPECT_THAT(html, HasSubstr(text));
  }
  EXPECT_THAT(html, HasSubstr("<a data-to=\"{&quot;run&quot;:&quot;abc&quot;,&quot;view&quot;:&quot;run&quot;}\">"));
  EXPECT_THAT(html, HasSubstr("<span>batch_size 8</span>")) << "what was not stored has no view";
}

TEST(LivePiecesTest, OfWhomNothingIsHeardNoEndIsForetold) {
  const std::string html = Shown(Exploration(), true);
  EXPECT_THAT(html, HasSubstr("no sign of life: it may have been killed"));
  EXPECT_THAT(html, Not(HasSubstr("at most")));
}

TEST(LivePiecesTest, OfLossesThatAreAllAlikeALineIsDrawn) {
  json state = Exploration();
  state["running"][0]["losses"] = {{1, 2.0}, {2, 2.0}};
  EXPECT_THAT(Shown(state), HasSubstr("viewBox=\"1 -2 1 1\""));
}

TEST(LivePiecesTest, WhatAnotherVersionSaysIsNotKnown) {
  for (const char* name : {"space", "started_at", "total", "running", "recent"}) {
    json state = Exploration();
    state.erase(name);
    EXPECT_THROW(Shown(state), json::exception) << name;
  }
  EXPECT_THROW(Shown(json::array()), json::exception);
}

}  // namespace
}  // namespace assay::serve
