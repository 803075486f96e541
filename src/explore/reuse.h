// Which of the store's outcomes hold here: what an outcome depends on, and what of it must agree.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "experiment/point.h"
#include "explore/host_provenance.h"
#include "samplestore/dependencies.h"

namespace assay::explore {

/// How far a run is replayed. The contents of model and data, and how many points share the machine, must agree always.
/// What was judged without a run is
/// replayed only by the programs that judged so, and on the kind of machine where that counted: to judge again costs
/// nothing.
enum class Reuse {
  kCommit,    ///< on the same kind of machine, by the same programs, libtorch and settings
  kMachine,   ///< on the same kind of machine, whatever the programs
  kAnywhere,  ///< on any machine
};

/// "machine", "commit", "anywhere".
std::string_view ToString(Reuse reuse);
std::span<const Reuse> AllReuses();

/// The hashes of what `point` reads. Where they cannot be read they are empty, which agrees with nothing measured.
samplestore::Facts ContentsHere(const experiment::BoundPoint& point, const experiment::PlanContext& context);

/// What `reuse` compares: `contents`, and of `provenance` what it names.
samplestore::Facts Compared(Reuse reuse, const samplestore::Facts& contents, const ProvenanceMap& provenance);

/// What an outcome was found by.
enum class FoundBy {
  kRule,  ///< of the experiment: the programs alone decide
  kPlan,  ///< what it reads and the kind of machine decide too
  kRun,   ///< its speed as its memory: libtorch and the settings too
};

/// What such an outcome depends on, of what `provenance` names. What was judged without a run is judged again by other
/// programs, whatever the reuse: they may know better.
samplestore::Facts DependenciesOf(const ProvenanceMap& provenance, FoundBy found_by = FoundBy::kRun);

}  // namespace assay::explore
