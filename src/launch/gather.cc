#include "launch/gather.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "job/trace_file.h"
#include "launch/classify.h"
#include "launch/merge_samples.h"

namespace assay::launch {
namespace {

/// A rank, and the machine on which it ran.
struct PlacedRank {
  int rank = 0;
  NodeReport* node = nullptr;
  RankReport* report = nullptr;
};

std::vector<PlacedRank> RanksOf(std::vector<NodeReport>& nodes) {
  std::vector<PlacedRank> ranks;
  for (NodeReport& node : nodes) {
    for (size_t i = 0; i < node.ranks.size(); ++i) {
      ranks.push_back({node.first_rank + static_cast<int>(i), &node, &node.ranks[i]});
    }
  }
  return ranks;
}

/// The rank that failed first; the first one where none did.
const PlacedRank& FirstToFail(const std::vector<PlacedRank>& ranks) {
  const PlacedRank* first = nullptr;
  for (const PlacedRank& rank : ranks) {
    if (!rank.report->succeeded() && (first == nullptr || rank.report->end_time < first->report->end_time)) {
      first = &rank;
    }
  }
  return first == nullptr ? ranks.front() : *first;
}

/// How far the run had come is in rank 0's events; why it ended, in those of the rank that failed.
void TakeLastWords(const job::RunRecord& failed, job::RunRecord& record) {
  record.stderr_tail = failed.stderr_tail;
  if (!record.events.empty() && std::holds_alternative<job::Ended>(record.events.back())) {
    record.events.pop_back();
    record.event_seconds.pop_back();
  }
  if (const auto* ended = job::FindEvent<job::Ended>(failed)) {
    record.events.emplace_back(*ended);
    record.event_seconds.push_back(failed.event_seconds.back());
  }
}

/// What another rank says of itself alone: events that name it.
void TakeRankEvents(const job::RunRecord& rank, job::RunRecord& record) {
  for (size_t i = 0; i < rank.events.size(); ++i) {
    const job::Event& event = rank.events[i];
    if (std::holds_alternative<job::RankStep>(event) || std::holds_alternative<job::DataUse>(event) ||
        std::holds_alternative<job::MemoryLedger>(event) || std::holds_alternative<job::CollectiveTotals>(event) ||
        std::holds_alternative<job::CheckpointTransfer>(event)) {
      record.events.push_back(event);
      record.event_seconds.push_back(rank.event_seconds[i]);
    }
  }
}

/// The evidence of the machine of the rank that failed, with what its ranks took of that machine's memory.
MemoryEvidence EvidenceOf(const NodeReport& node) {
  MemoryEvidence memory = node.memory;
  for (const RankReport& rank : node.ranks) {
    memory.peak_bytes += rank.record.max_rss_bytes;
  }
  return memory;
}

job::RunRecord RecordOfRanks(std::vector<NodeReport>& nodes, bool interrupted) {
  const std::vector<PlacedRank> ranks = RanksOf(nodes);
  const PlacedRank& failed = FirstToFail(ranks);
  const MemoryEvidence memory = EvidenceOf(*failed.node);
  job::RunRecord record = std::move(ranks.front().report->record);
  for (const PlacedRank& other : std::span(ranks).subspan(1)) {
    record.max_rss_bytes = std::max(record.max_rss_bytes, other.report->record.max_rss_bytes);
    record.cpu_seconds += other.report->record.cpu_seconds;
  }
  if (failed.rank > 0) {
    TakeLastWords(failed.report->record, record);
  }
  for (const PlacedRank& other : std::span(ranks).subspan(1)) {
    TakeRankEvents(other.report->record, record);
  }
  Classify({failed.report->end, interrupted, memory, failed.report->lost}, record);
  // A worker names its rank itself; a rank that was killed cannot.
  if (ranks.size() > 1 && !record.reason.empty() && !record.reason.starts_with("rank ")) {
    record.reason = fmt::format("rank {}: {}", failed.rank, record.reason);
  }
  return record;
}

/// A run without the trace that its plan asks for has failed.
void MergeTrace(const job::Plan& plan, job::RunRecord& record) {
  const job::TrainingPlan& training = job::TrainingOf(plan);
  if (training.trace_dir.empty() || record.end != job::RunEnd::kDone) {
    return;
  }
  if (const auto merged = job::MergeTraces(training.trace_dir, training.number_ranks); !merged.ok()) {
    record.end = job::RunEnd::kError;
    record.reason = merged.status().message();
  }
}

/// Loading and training, as the worker timed them.
double WorkSeconds(const job::RunRecord& record) {
  const auto* loaded = job::FindEvent<job::Loaded>(record);
  const auto* ended = job::FindEvent<job::Ended>(record);
  return (loaded == nullptr ? 0 : loaded->seconds) + (ended == nullptr ? 0 : ended->train_runtime);
}

std::map<std::string, std::vector<double>> SamplesOf(std::vector<NodeReport>& nodes) {
  if (nodes.size() == 1) {
    return std::move(nodes.front().samples);
  }
  std::vector<measure::SampleSeries> machines;
  for (const NodeReport& node : nodes) {
    machines.push_back(measure::FromColumns(node.samples));
  }
  return measure::ToColumns(MergeSamples(std::move(machines)));
}

}  // namespace

job::RunRecord Gather(const job::Plan& plan, std::vector<NodeReport> nodes, bool interrupted, double wall_seconds) {
  job::RunRecord record = RecordOfRanks(nodes, interrupted);
  record.samples = SamplesOf(nodes);
  record.machine = std::move(nodes.front().facts);
  for (const NodeReport& node : nodes) {
    record.stood_still_seconds = std::max(record.stood_still_seconds, node.stood_still_seconds);
    record.cpu_wait_seconds = std::max(record.cpu_wait_seconds, node.cpu_wait_seconds);
  }
  record.wall_seconds = wall_seconds;
  record.overhead_seconds = record.wall_seconds - WorkSeconds(record);
  MergeTrace(plan, record);
  return record;
}

}  // namespace assay::launch
