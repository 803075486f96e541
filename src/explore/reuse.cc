#include "explore/reuse.h"

#include <array>
#include <initializer_list>

namespace assay::explore {
namespace {

using samplestore::Facts;

/// Of others, of which a run was made: a content, in the words of its experiment.
constexpr char kLibraries[] = "libraries";

constexpr std::array kReuses = {Reuse::kCommit, Reuse::kMachine, Reuse::kAnywhere};

void Take(const ProvenanceMap& from, std::initializer_list<const char*> names, Facts& facts) {
  for (const char* name : names) {
    if (const auto found = from.find(name); found != from.end()) {
      facts[name] = found->second;
    }
  }
}

void TakeAs(const char* name, const ProvenanceMap& from, const char* entry, Facts& facts) {
  if (const auto found = from.find(entry); found != from.end()) {
    facts[name] = found->second;
  }
}

/// What beside the contents counts of a run.
void TakeMachine(const ProvenanceMap& provenance, Reuse reuse, Facts& facts) {
  // One of eight at once has not the speed of one alone, on whatever machine.
  Take(provenance, {samplestore::kPointsAtOnce}, facts);
  if (reuse != Reuse::kAnywhere) {
    Take(provenance, {samplestore::kMachine}, facts);
  }
  if (reuse == Reuse::kCommit) {
    Take(provenance, {samplestore::kLibtorch, samplestore::kCommit, samplestore::kSettings}, facts);
  }
}

}  // namespace

std::string_view ToString(Reuse reuse) {
  constexpr std::string_view kNames[] = {"commit", "machine", "anywhere"};
  return kNames[static_cast<int>(reuse)];
}

std::span<const Reuse> AllReuses() {
  return kReuses;
}

Facts ContentsHere(const experiment::BoundPoint& point, const experiment::PlanContext& context) {
  Result<Facts> contents = point.experiment->Contents(point.complete, context);
  if (contents.ok()) {
    return *std::move(contents);
  }
  return {{samplestore::kModelHash, ""}, {samplestore::kDataHash, ""}, {samplestore::kTokenizerHash, ""}};
}

Facts Compared(Reuse reuse, const Facts& contents, const ProvenanceMap& provenance) {
  Facts facts = contents;
  TakeAs(samplestore::kJudgedBy, provenance, samplestore::kCommit, facts);
  TakeAs(samplestore::kJudgedOn, provenance, samplestore::kMachine, facts);
  TakeMachine(provenance, reuse, facts);
  return facts;
}

Facts DependenciesOf(const ProvenanceMap& provenance, FoundBy found_by) {
  Facts facts;
  if (found_by == FoundBy::kRun) {
    Take(provenance,
         {samplestore::kMachine, samplestore::kCommit, samplestore::kLibtorch, samplestore::kSettings,
          samplestore::kPointsAtOnce},
         facts);
  } else {
    TakeAs(samplestore::kJudgedBy, provenance, samplestore::kCommit, facts);
  }
  if (found_by == FoundBy::kPlan) {
    TakeAs(samplestore::kJudgedOn, provenance, samplestore::kMachine, facts);
  }
  if (found_by != FoundBy::kRule) {
    Take(provenance, {samplestore::kModelHash, samplestore::kDataHash, samplestore::kTokenizerHash, kLibraries}, facts);
  }
  return facts;
}

}  // namespace assay::explore
