// Gathers what the agents of one run say into the reports of their machines.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "job/plan.h"
#include "launch/agent_lines.h"
#include "launch/launcher.h"
#include "launch/node_report.h"

namespace assay::launch {

/// Belongs to one thread, the one that follows the run.
class AgentReports {
 public:
  /// `nodes` agents run the ranks of `plan`; of `options`, which must outlive this, rank 0's events are told as they
  /// come. A machine whose programs are of another commit than `commit` is refused.
  AgentReports(const job::Plan& plan, int nodes, std::string commit, const LaunchOptions& options);

  /// False where `line` is none of an agent's.
  bool Take(std::string_view line);
  /// Agent `node` will say no more; `why` is one line. Nothing where it has said all.
  void Lose(int node, const std::string& why);

  /// A machine cannot run its ranks; one line.
  void Refuse(const std::string& why);
  /// Not ok when a machine cannot run its ranks.
  const Status& refused() const { return refused_; }
  bool all_ended() const;
  /// What the ranks of all machines use now.
  measure::LiveSample Latest() const;
  /// In order of their ranks, all on rank 0's clock; once.
  std::vector<NodeReport> TakeReports();

 private:
  struct Node {
    bool heard = false;
    bool ended = false;
    double unix_seconds = 0;
    NodeReport report;
    measure::LiveSample latest;
  };

  void Take(Node& node, AgentStarted& said);
  void Take(Node& node, AgentRefused& said);
  void Take(Node& node, AgentEvent& said);
  void Take(Node& node, AgentLive& said);
  void Take(Node& node, AgentSamples& said);
  void Take(Node& node, AgentRankEnded& said);
  void Take(Node& node, AgentEnded& said);
  RankReport* Find(Node& node, int64_t rank);

  const int64_t ranks_;
  const std::string commit_;
  const LaunchOptions& options_;
  std::vector<Node> nodes_;
  Status refused_;
};

}  // namespace assay::launch
