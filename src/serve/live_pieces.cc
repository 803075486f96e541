#include "serve/live_pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "report/format.h"

namespace assay::serve {
namespace {

using nlohmann::json;
using report::Markup;

constexpr std::string_view kBetween = " \u00b7 ";
constexpr int kSparklineWidth = 150;
constexpr int kSparklineHeight = 34;

std::string TextOf(const json& state, const char* name) {
  return state.at(name).get<std::string>();
}

/// "10:00" of "2026-01-31T10:00:00Z"
std::string MinuteOf(const std::string& moment) {
  return moment.size() < 16 ? moment : moment.substr(11, 5);
}

void WriteProgress(Markup& html, const std::string& label, int64_t value, int64_t most) {
  html.Open("progress", {{"max", fmt::format("{}", std::max<int64_t>(1, most))},
                         {"value", fmt::format("{}", value)},
                         {"aria-label", label}});
  html.Close();
}

void WriteFacts(Markup& html, const std::vector<std::string>& facts) {
  html.Element("p", Join(facts, kBetween), {{"class", "facts-line"}});
}

/// The losses of a run as a line; its last value stands beside it.
void WriteSparkline(Markup& html, const json& losses) {
  std::vector<std::pair<double, double>> points;
  for (const json& point : losses) {
    if (point.at(1).is_number()) {
      points.emplace_back(point.at(0).get<double>(), -point.at(1).get<double>());
    }
  }
  if (points.size() < 2) {
    return;
  }
  const auto [low, high] = std::ranges::minmax_element(points, {}, &std::pair<double, double>::second);
  const double height = high->second - low->second;
  const double from = points.front().first;
  html.Open("svg", {{"viewBox", fmt::format("{:.6g} {:.6g} {:.6g} {:.6g}", from, low->second,
                                            points.back().first - from, height > 0 ? height : 1)},
                    {"preserveAspectRatio", "none"},
                    {"width", fmt::format("{}", kSparklineWidth)},
                    {"height", fmt::format("{}", kSparklineHeight)},
                    {"aria-hidden", "true"}});
  std::string path;
  for (const auto& [x, y] : points) {
    path += fmt::format("{}{:.6g} {:.6g}", path.empty() ? "M" : "L", x, y);
  }
  html.Empty("path", {{"d", path}, {"vector-effect", "non-scaling-stroke"}}).Close();
}

std::vector<std::string> FactsOfRun(const json& run) {
  if (run.value("step", 0) == 0) {
    return {TextOf(run, "phase"), fmt::format("for {}", FormatSeconds(run.at("seconds").get<double>()))};
  }
  std::vector<std::string> facts = {
      fmt::format("step {} of {}", run.at("step").get<int64_t>(), run.at("steps").get<int64_t>())};
  if (const json& loss = run.at("loss"); !loss.is_null()) {
    facts.push_back("loss " + report::Readable(loss.get<double>()));
  }
  if (const json& rate = run.at("rate"); rate.is_number() && rate.get<double>() > 0) {
    facts.push_back(fmt::format("{} {}", report::Readable(rate.get<double>()), TextOf(run, "unit")));
  }
  if (const json& left = run.at("seconds_left"); left.is_number() && left.get<double>() > 0) {
    facts.push_back(FormatSeconds(left.get<double>()) + " left");
  }
  return facts;
}

void WriteRun(Markup& html, const json& run) {
  const std::string label = TextOf(run, "label");
  html.Open("li").Element("strong", label);
  if (const auto step = run.value("step", int64_t{0}); step > 0) {
    WriteProgress(html, "steps of " + label, step, run.at("steps").get<int64_t>());
  }
  WriteFacts(html, FactsOfRun(run));
  WriteSparkline(html, run.at("losses"));
  html.Close();
}

/// "out of memory" of "out_of_memory"
std::string Words(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

void WriteDone(Markup& html, const json& done) {
  const std::string label = TextOf(done, "label");
  const std::string outcome = TextOf(done, "outcome");
  const std::string uid = TextOf(done, "uid");
  const bool replayed = done.at("replayed").get<bool>();
  const double seconds = done.at("seconds").get<double>();
  html.Open("li").Element("span", replayed ? "replayed" : Words(outcome), {{"class", "badge " + outcome}}).Text(" ");
  html.Element(uid.empty() ? "span" : "a", label,
               {{"data-to", uid.empty() ? "" : DumpJson({{"view", "run"}, {"run", uid}})}});
  std::vector<std::string> told;
  if (!replayed && seconds > 0) {
    told.push_back(FormatSeconds(seconds));
  }
  if (std::string reason = TextOf(done, "reason"); !reason.empty()) {
    told.push_back(std::move(reason));
  }
  html.Element("span", " " + Join(told, kBetween), {{"class", "sub"}}).Close();
}

/// "at most 5m00s left, until 10:05 UTC"; of more than a day no time of the day.
std::string LeftText(const json& state) {
  const double left = state.at("seconds_left").get<double>();
  const std::string at = MinuteOf(TextOf(state, "at"));
  constexpr int kDayMinutes = 24 * 60;
  int hour = 0;
  int minute = 0;
  const bool known = std::sscanf(at.c_str(), "%2d:%2d", &hour, &minute) == 2 && left < 60 * kDayMinutes;
  const int end = known ? (60 * hour + minute + static_cast<int>(left / 60)) % kDayMinutes : 0;
  return fmt::format("at most {} left", FormatSeconds(left)) +
         (known ? fmt::format(", until {:02}:{:02} UTC", end / 60, end % 60) : "");
}

std::vector<std::string> Summary(const json& state, bool silent) {
  std::vector<std::string> facts = {fmt::format("{} of {}", state.at("done").get<int64_t>(),
                                                report::Count(state.at("total").get<size_t>(), "point"))};
  for (const char* name : {"measured", "replayed", "invalid", "ended_early", "failed"}) {
    if (const auto count = state.value(name, int64_t{0}); count > 0) {
      facts.push_back(fmt::format("{} {}", count, Words(name)));
    }
  }
  if (const auto waiting = state.at("waiting").get<int64_t>(); waiting > 0) {
    facts.push_back(fmt::format("{} measured by others", waiting));
  }
  if (silent) {
    facts.emplace_back("no sign of life: it may have been killed");
  } else if (!state.at("seconds_left").is_null()) {
    facts.push_back(LeftText(state));
  }
  return facts;
}

}  // namespace

void WriteExploration(Markup& html, const json& state, bool silent) {
  const std::string title = fmt::format("{} on {}", TextOf(state, "space"), TextOf(state, "host"));
  html.Open("section", {{"class", "operation"}, {"aria-label", title}}).Open("h2").Text(title + " ");
  html.Element("span", fmt::format("since {} UTC", MinuteOf(TextOf(state, "started_at"))), {{"class", "unit"}});
  html.Close();
  WriteProgress(html, "points of " + title, state.at("done").get<int64_t>(), state.at("total").get<int64_t>());
  WriteFacts(html, Summary(state, silent));
  html.Open("ul", {{"class", "running"}});
  for (const json& run : state.at("running")) {
    WriteRun(html, run);
  }
  if (const auto more = state.value("more_running", int64_t{0}); more > 0) {
    html.Element("li", fmt::format("and {} more", more));
  }
  html.Close().Open("ul", {{"class", "recent"}});
  for (const json& done : state.at("recent")) {
    WriteDone(html, done);
  }
  html.Close().Close();
}

}  // namespace assay::serve
