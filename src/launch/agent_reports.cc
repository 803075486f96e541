#include "launch/agent_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace assay::launch {
namespace {

std::string FactOf(const std::map<std::string, std::string>& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() ? "" : found->second;
}

/// Puts what `node` saw on the clock of one that was 0 at `unix_seconds`.
void ShiftClock(NodeReport& report, double seconds) {
  for (RankReport& rank : report.ranks) {
    rank.end_time += seconds;
    for (double& at : rank.record.event_seconds) {
      at += seconds;
    }
  }
  for (double& at : report.samples["time_s"]) {
    at += seconds;
  }
}

}  // namespace

AgentReports::AgentReports(const job::Plan& plan, int nodes, std::string commit, const LaunchOptions& options)
    : ranks_(job::TrainingOf(plan).number_ranks),
      commit_(std::move(commit)),
      options_(options),
      nodes_(static_cast<size_t>(nodes)) {
  const auto ranks_each = static_cast<int>(ranks_) / nodes;
  for (int i = 0; i < nodes; ++i) {
    NodeReport& report = nodes_[static_cast<size_t>(i)].report;
    report.first_rank = i * ranks_each;
    report.ranks.resize(static_cast<size_t>(ranks_each));
  }
}

bool AgentReports::Take(std::string_view line) {
  Result<AgentLine> told = AgentLineFromJson(line);
  if (!told.ok() || told->node < 0 || told->node >= std::ssize(nodes_)) {
    return false;
  }
  Node& node = nodes_[static_cast<size_t>(told->node)];
  std::visit([&](auto& said) { Take(node, said); }, told->said);
  return true;
}

RankReport* AgentReports::Find(Node& node, int64_t rank) {
  const int64_t local = rank - node.report.first_rank;
  const bool known = local >= 0 && local < std::ssize(node.report.ranks);
  return known ? &node.report.ranks[static_cast<size_t>(local)] : nullptr;
}

void AgentReports::Take(Node& node, AgentStarted& said) {
  node.heard = true;
  node.unix_seconds = said.unix_seconds;
  node.report.facts = std::move(said.facts);
  if (const std::string there = FactOf(node.report.facts, "commit"); there != commit_ && refused_.ok()) {
    refused_ = Status::FailedPrecondition(
        fmt::format("machine {} has assay of commit {}, and this one is of commit {}: install the same build on both",
                    FactOf(node.report.facts, "host"), there, commit_));
  }
}

void AgentReports::Take(Node& node, AgentRefused& said) {
  node.ended = true;
  Refuse(said.reason);
}

void AgentReports::Refuse(const std::string& why) {
  if (refused_.ok()) {
    refused_ = Status::NotFound(why);
  }
}

void AgentReports::Take(Node& node, AgentEvent& said) {
  RankReport* rank = Find(node, said.rank);
  if (rank == nullptr) {
    return;
  }
  if (said.rank == 0 && options_.on_event) {
    options_.on_event(said.event);
  }
  rank->record.events.push_back(std::move(said.event));
  rank->record.event_seconds.push_back(said.at);
  rank->end_time = said.at;
}

void AgentReports::Take(Node& node, AgentLive& said) {
  node.latest = said.sample;
}

void AgentReports::Take(Node& node, AgentSamples& said) {
  for (auto& [name, values] : said.columns) {
    std::vector<double>& column = node.report.samples[name];
    column.insert(column.end(), values.begin(), values.end());
  }
}

void AgentReports::Take(Node& node, AgentRankEnded& said) {
  if (RankReport* rank = Find(node, said.rank)) {
    rank->end = said.end;
    rank->end_time = said.at;
    rank->record.max_rss_bytes = said.end.max_rss_bytes;
    rank->record.cpu_seconds = said.end.cpu_seconds;
    rank->record.stderr_tail = std::move(said.stderr_tail);
  }
}

void AgentReports::Take(Node& node, AgentEnded& said) {
  node.ended = true;
  node.report.memory = said.memory;
  node.report.stood_still_seconds = said.stood_still_seconds;
  node.report.cpu_wait_seconds = said.cpu_wait_seconds;
}

void AgentReports::Lose(int node, const std::string& why) {
  Node& lost = nodes_[static_cast<size_t>(node)];
  if (std::exchange(lost.ended, true)) {
    return;
  }
  const std::string host = FactOf(lost.report.facts, "host");
  for (RankReport& rank : lost.report.ranks) {
    if (rank.end.exited || rank.end.signal != 0) {
      continue;
    }
    rank.lost = host.empty() ? why : fmt::format("machine {} was lost: {}", host, why);
  }
}

bool AgentReports::all_ended() const {
  return std::ranges::all_of(nodes_, &Node::ended);
}

measure::LiveSample AgentReports::Latest() const {
  measure::LiveSample sum;
  for (const Node& node : nodes_) {
    sum.time_s = std::max(sum.time_s, node.latest.time_s);
    sum.cpu_tree_percent += node.latest.cpu_tree_percent;
    sum.rss_tree_bytes += node.latest.rss_tree_bytes;
    sum.gpu_memory_used_bytes += node.latest.gpu_memory_used_bytes;
  }
  return sum;
}

std::vector<NodeReport> AgentReports::TakeReports() {
  std::vector<NodeReport> reports;
  for (Node& node : nodes_) {
    if (node.heard && nodes_.front().heard) {
      ShiftClock(node.report, node.unix_seconds - nodes_.front().unix_seconds);
    }
    reports.push_back(std::move(node.report));
  }
  return reports;
}

}  // namespace assay::launch
