// What the agent of a machine tells the controller of a run: one JSON object a line, in the order it happened.
//
// An agent writes `started`, the events of its ranks as they come, what they use now about once a second, and when all
// have ended the samples in blocks, each rank's end, and `ended` last. Lines are short: several agents may share a
// pipe.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "base/subprocess.h"
#include "job/event.h"
#include "launch/memory_evidence.h"
#include "measure/sampler.h"

namespace assay::launch {

/// The agent is up, and its ranks are about to be.
struct AgentStarted {
  int64_t first_rank = 0;
  int64_t ranks = 0;
  double unix_seconds = 0;                   ///< when the clock of its ranks' events was 0
  std::map<std::string, std::string> facts;  ///< DescribeNode()
};

/// The ranks cannot be started here.
struct AgentRefused {
  std::string reason;
};

struct AgentEvent {
  int64_t rank = 0;
  double at = 0;  ///< seconds since the ranks were started
  job::Event event;
};

/// What the ranks of this machine use now.
struct AgentLive {
  measure::LiveSample sample;
};

/// Consecutive samples: the columns of measure::ToColumns, of equal length.
struct AgentSamples {
  std::map<std::string, std::vector<double>> columns;
};

struct AgentRankEnded {
  int64_t rank = 0;
  double at = 0;
  ProcessEnd end;
  std::string stderr_tail;
};

/// Every rank has ended, and all that there is of them has been told.
struct AgentEnded {
  MemoryEvidence memory;
  double stood_still_seconds = 0;
  double cpu_wait_seconds = 0;
};

struct AgentLine {
  int64_t node = 0;  ///< which of the run's agents says so
  std::variant<AgentStarted, AgentRefused, AgentEvent, AgentLive, AgentSamples, AgentRankEnded, AgentEnded> said;
};

/// One line of JSON, without the newline.
std::string ToJsonLine(const AgentLine& line);
/// kInvalidArgument for what no agent of this version says.
Result<AgentLine> AgentLineFromJson(std::string_view text);

}  // namespace assay::launch
