#include "launch/agent_lines.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"

namespace assay::launch {
namespace {

using nlohmann::json;

json BodyOf(const AgentStarted& said) {
  return {{"first_rank", said.first_rank},
          {"ranks", said.ranks},
          {"unix_seconds", said.unix_seconds},
          {"facts", said.facts}};
}

json BodyOf(const AgentRefused& said) {
  return {{"reason", said.reason}};
}

json BodyOf(const AgentEvent& said) {
  return {{"rank", said.rank}, {"at", said.at}, {"event", json::parse(job::ToJsonLine(said.event))}};
}

json BodyOf(const AgentLive& said) {
  return {{"time_s", said.sample.time_s},
          {"cpu_tree_percent", said.sample.cpu_tree_percent},
          {"rss_tree_bytes", said.sample.rss_tree_bytes},
          {"gpu_memory_used_bytes", said.sample.gpu_memory_used_bytes}};
}

json BodyOf(const AgentSamples& said) {
  return said.columns;
}

json BodyOf(const AgentRankEnded& said) {
  return {{"rank", said.rank},
          {"at", said.at},
          {"exited", said.end.exited},
          {"exit_code", said.end.exit_code},
          {"signal", said.end.signal},
          {"cpu_seconds", said.end.cpu_seconds},
          {"max_rss_bytes", said.end.max_rss_bytes},
          {"stderr", said.stderr_tail}};
}

json BodyOf(const AgentEnded& said) {
  return {{"killer_struck", said.memory.killer_struck},
          {"free_bytes", said.memory.free_bytes},
          {"total_bytes", said.memory.total_bytes},
          {"stood_still_seconds", said.stood_still_seconds},
          {"cpu_wait_seconds", said.cpu_wait_seconds}};
}

void Take(const json& body, AgentStarted& said) {
  said = {body.at("first_rank"), body.at("ranks"), body.at("unix_seconds"),
          body.at("facts").get<std::map<std::string, std::string>>()};
}

void Take(const json& body, AgentRefused& said) {
  said = {body.at("reason")};
}

void Take(const json& body, AgentEvent& said) {
  Result<job::Event> event = job::EventFromJsonLine(body.at("event").dump());
  if (!event.ok()) {
    throw json::other_error::create(501, event.status().message(), nullptr);
  }
  said = {body.at("rank"), body.at("at"), *std::move(event)};
}

void Take(const json& body, AgentLive& said) {
  said.sample = {body.at("time_s"), body.at("cpu_tree_percent"), body.at("rss_tree_bytes"),
                 body.at("gpu_memory_used_bytes")};
}

void Take(const json& body, AgentSamples& said) {
  for (const auto& [name, values] : body.items()) {
    std::vector<double>& column = said.columns[name];
    for (const json& value : values) {
      column.push_back(value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>());
    }
  }
}

void Take(const json& body, AgentRankEnded& said) {
  said.rank = body.at("rank");
  said.at = body.at("at");
  said.end = {body.at("exited"), body.at("exit_code"), body.at("signal"), body.at("cpu_seconds"),
              body.at("max_rss_bytes")};
  said.stderr_tail = body.at("stderr");
}

void Take(const json& body, AgentEnded& said) {
  said.memory = {.killer_struck = body.at("killer_struck"),
                 .free_bytes = body.at("free_bytes"),
                 .total_bytes = body.at("total_bytes")};
  said.stood_still_seconds = body.at("stood_still_seconds");
  said.cpu_wait_seconds = body.at("cpu_wait_seconds");
}

// In the order of AgentLine::said.
constexpr const char* kLineKinds[] = {"started", "refused", "event", "live", "samples", "rank_ended", "ended"};

/// The alternative of AgentLine::said that `kind` names.
template <size_t index = 0>
bool TakeKind(std::string_view kind, const json& body, AgentLine& line) {
  if constexpr (index == std::variant_size_v<decltype(line.said)>) {
    return false;
  } else {
    if (kind != kLineKinds[index]) {
      return TakeKind<index + 1>(kind, body, line);
    }
    Take(body, line.said.template emplace<index>());
    return true;
  }
}

}  // namespace

std::string ToJsonLine(const AgentLine& line) {
  const json body = std::visit([](const auto& said) { return BodyOf(said); }, line.said);
  return DumpJson({{"agent", kLineKinds[line.said.index()]}, {"node", line.node}, {"is", body}});
}

Result<AgentLine> AgentLineFromJson(std::string_view text) {
  AgentLine line;
  try {
    const json parsed = json::parse(text);
    line.node = parsed.at("node");
    if (TakeKind(parsed.at("agent").get<std::string>(), parsed.at("is"), line)) {
      return line;
    }
  } catch (const json::exception& problem) {
    return Status::InvalidArgument(fmt::format("not a line of an agent: {}", problem.what()));
  }
  return Status::InvalidArgument("not a line of an agent of this version");
}

}  // namespace assay::launch
