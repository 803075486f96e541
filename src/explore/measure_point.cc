#include "explore/measure_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/subprocess.h"
#include "base/text.h"
#include "explore/claim_heartbeat.h"
#include "explore/early_stop.h"
#include "explore/reference_run.h"
#include "explore/run_evidence.h"
#include "launch/local_launcher.h"
#include "launch/product_ceilings.h"
#include "samplestore/dependencies.h"
#include "space/number.h"

namespace assay::explore {
namespace {

using samplestore::ClaimResult;
using samplestore::Measurement;
using samplestore::Outcome;

bool UsesGpus(const experiment::BoundPoint& point) {
  const experiment::PropertySpec* gpus = FindProperty(*point.experiment, experiment::Role::kGpus);
  return gpus != nullptr && point.complete.at(gpus->name) != space::Value(int64_t{0});
}

/// Of the machine, the programs and the settings.
ProvenanceMap ProvenanceHere(const experiment::BoundPoint& point, const MeasureOptions& options) {
  const bool uses_gpus = UsesGpus(point);
  ProvenanceMap provenance =
      options.host ? options.host->provenance(uses_gpus) : Host::Look(uses_gpus).provenance(uses_gpus);
  provenance[samplestore::kSettings] = DescribeSettings(options.context.threads, options.points_at_once);
  provenance[samplestore::kPointsAtOnce] = std::to_string(options.points_at_once);
  return provenance;
}

/// Measures one claimed point. What it finds is in `result`; an error is not the point's.
class PointRun {
 public:
  PointRun(const experiment::BoundPoint& point, const MeasureOptions& options) : point_(point), options_(options) {
    Measurement& measurement = result_.measurement;
    measurement.uid = RandomUid();
    measurement.experiment = point.experiment->id();
    measurement.parameterized_id = point.parameterized_id;
    measurement.entity = point.entity;
    measurement.entity_id = point.entity_id;
    measurement.parameters = point.parameters;
  }

  Result<PointResult> Execute() {
    result_.measurement.provenance = ProvenanceHere(point_, options_);
    if (options_.repeats_at_most > 0) {
      AddProvenance({{"repeats_at_most", std::to_string(options_.repeats_at_most)}});
    }
    if (const experiment::Verdict verdict = point_.experiment->Check(point_.complete); !verdict.valid()) {
      ConcludeInvalid(verdict.reason, FoundBy::kRule);
      return std::move(result_);
    }
    Say("preparing");
    Result<experiment::RunPlan> plan = point_.experiment->Plan(point_.complete, options_.context);
    if (InterruptRequested()) {
      return Status::Aborted("interrupted before the worker was started");
    }
    if (plan.status().code() == ErrorCode::kFailedPrecondition || plan.status().code() == ErrorCode::kOutOfMemory) {
      AddProvenance(ContentsHere(point_, options_.context));
      ConcludeInvalid(plan.status().message(), FoundBy::kPlan);
      return std::move(result_);
    }
    if (!plan.ok()) {
      Fail(plan.status());
      return std::move(result_);
    }
    AddProvenance(plan->provenance);
    if (const Status status = RunReference(*plan); status.code() == ErrorCode::kAborted) {
      return status;
    } else if (!status.ok()) {
      Fail(status);
      return std::move(result_);
    }
    FindCeiling(*plan);
    ASSAY_RETURN_IF_ERROR(RunPlan(*plan));
    return std::move(result_);
  }

 private:
  void Say(std::string_view phase) const {
    if (options_.on_phase) {
      options_.on_phase(phase);
    }
  }

  void AddProvenance(const std::map<std::string, std::string>& provenance) {
    for (const auto& [name, value] : provenance) {
      result_.measurement.provenance[name] = value;
    }
  }

  void Conclude(Outcome outcome, std::string reason, samplestore::Facts depends_on) {
    result_.measurement.outcome = outcome;
    result_.measurement.depends_on = std::move(depends_on);
    result_.measurement.reason = std::move(reason);
    result_.measurement.measured_at = UtcTimestamp();
    if (outcome == Outcome::kInvalid) {
      result_.measurement.properties["is_valid"] = int64_t{0};
    }
  }

  void ConcludeInvalid(std::string reason, FoundBy found_by) {
    Conclude(Outcome::kInvalid, std::move(reason), DependenciesOf(result_.measurement.provenance, found_by));
  }

  void Fail(const Status& cause) {
    result_.cause = cause;
    Conclude(Outcome::kFailed, cause.message(), {});
  }

  /// Of a run: what was found holds for this machine, these programs and what they read.
  void ConcludeRun(Outcome outcome, std::string reason) {
    Conclude(outcome, std::move(reason), DependenciesOf(result_.measurement.provenance));
  }

  Result<job::RunRecord> Run(const job::Plan& plan) const { return Run(plan, options_.launch); }

  Result<job::RunRecord> Run(const job::Plan& plan, const launch::LaunchOptions& launch) const {
    return options_.runner ? options_.runner(plan, launch) : launch::RunWorker(plan, launch);
  }

  /// Ends it as soon as its progress says so: `behind_` is why.
  Result<job::RunRecord> RunWatched(const job::Plan& plan) {
    launch::LaunchOptions launch = options_.launch;
    launch.on_event = [this](const job::Event& event) {
      if (options_.launch.on_event) {
        options_.launch.on_event(event);
      }
      if (const auto* step = std::get_if<job::Step>(&event); step != nullptr && behind_.empty()) {
        behind_ = options_.ends_early(*step);
      }
    };
    launch.cancelled = [this] {
      return !behind_.empty() || (options_.launch.cancelled && options_.launch.cancelled());
    };
    return Run(plan, launch);
  }

  /// A run that came to its end all the same, or to one of its own, counts as that.
  bool WasEndedEarly(const job::RunRecord& record) const {
    const bool may_be_ours =
        record.end == job::RunEnd::kKilled || record.end == job::RunEnd::kVanished || record.end == job::RunEnd::kLost;
    return !behind_.empty() && may_be_ours && CheckNeverStoodStill(record).ok();
  }

  void ConcludeEndedEarly(const job::RunRecord& record) {
    AddProvenance({{samplestore::kEndedEarly, options_.early_rule}});
    result_.measurement.series = record.samples;
    AddStepSeries(record, result_.measurement.series);
    ConcludeRun(Outcome::kFailed, "ended early: " + behind_);
  }

  std::string MadeBy() const {
    std::string text;
    for (const auto& [name, value] : DependenciesOf(ProvenanceHere(point_, options_))) {
      text += fmt::format("\n{} {}", name, value);
    }
    return text;
  }

  Status RunReference(experiment::RunPlan& plan) {
    if (!plan.reference) {
      return Status::Ok();
    }
    Say("running the reference");
    ASSAY_ASSIGN_OR_RETURN(plan.reference_steps, ReferenceSteps(*plan.reference, MadeBy(),
                                                                [this](const job::Plan& work) { return Run(work); }));
    return Status::Ok();
  }

  /// Without a ceiling the point has no utilisation, and all else.
  void FindCeiling(experiment::RunPlan& plan, double reached = 0) const {
    if (plan.ceiling && !InterruptRequested()) {
      Say("measuring the machine's ceiling");
      const Result<double> tflops = CeilingTflops(
          *plan.ceiling, options_.ceilings ? options_.ceilings : CeilingsFunction(&launch::MeasureProductCeilings),
          reached);
      plan.ceiling_tflops = tflops.ok() ? *tflops : 0;
    }
  }

  Status RunPlan(experiment::RunPlan& plan) {
    const experiment::Runs& wanted = point_.experiment->declaration().runs;
    std::vector<job::RunRecord> runs;
    std::string ends;
    std::string reasons;
    while (std::ssize(runs) < wanted.count) {
      Say(wanted.count == 1 ? "running" : fmt::format("running {} of {},", runs.size() + 1, wanted.count));
      const bool watched = options_.ends_early && wanted.count == 1;
      ASSAY_ASSIGN_OR_RETURN(job::RunRecord record, watched ? RunWatched(plan.work) : Run(plan.work));
      if (record.end == job::RunEnd::kInterrupted) {
        return launch::EndStatus(record);
      }
      ends += (ends.empty() ? "" : ", ") + std::string(job::ToString(record.end));
      AddProvenance(WorkerProvenance(record));
      AddProvenance({{"run_end", ends}});
      if (wanted.count > 1 && record.end != job::RunEnd::kDone) {
        reasons += (reasons.empty() ? "" : "; ") + record.reason;
        AddProvenance({{"run_reasons", reasons}});
      }
      if (WasEndedEarly(record)) {
        ConcludeEndedEarly(record);
        return Status::Ok();
      }
      if (!MayGoOn(plan, record, wanted.of_any_end)) {
        return Status::Ok();
      }
      runs.push_back(std::move(record));
    }
    Measure(plan, runs);
    return Status::Ok();
  }

  /// Whether a run counts; else the point is concluded with it. Memory that others used up proves nothing about it.
  bool MayGoOn(const experiment::RunPlan& plan, const job::RunRecord& record, bool of_any_end) {
    Status own = CheckNeverStoodStill(record);
    if (record.end == job::RunEnd::kOutOfMemory) {
      AddProvenance({{"out_of_memory_found_by", record.signal == 0 ? "worker" : "kernel"}});
      own = CheckMemoryWasFree(plan.work, record);
    }
    if (own.ok() && (of_any_end || record.end == job::RunEnd::kDone)) {
      return true;
    }
    result_.measurement.series = record.samples;
    const bool out_of_memory = record.end == job::RunEnd::kOutOfMemory;
    if (!own.ok() && (out_of_memory || record.end == job::RunEnd::kDone)) {
      Fail(own);
    } else if (out_of_memory || record.end == job::RunEnd::kDiverged) {
      ConcludeRun(Outcome::kInvalid, record.reason);
    } else {
      AddProvenance({{"stderr", record.stderr_tail}});
      Fail(launch::EndStatus(record));
      result_.machine_lost = record.end == job::RunEnd::kLost;
    }
    return false;
  }

  /// A ceiling that the run went beyond was measured while the machine was busy: once more, then.
  Result<experiment::Measured> MeasureBelowCeiling(experiment::RunPlan& plan,
                                                   const std::vector<job::RunRecord>& runs) const {
    Result<experiment::Measured> measured = point_.experiment->Measure(point_.complete, plan, runs);
    if (!measured.ok() || plan.ceiling_tflops <= 0) {
      return measured;
    }
    double tflops = 0;
    for (const auto* target : TargetsOf({&point_.experiment, 1}, experiment::Quantity::kReachedTflops)) {
      const auto reached = measured->properties.find(target->name);
      tflops = reached == measured->properties.end() ? tflops : space::NumberOf(reached->second).value_or(0);
    }
    if (tflops <= plan.ceiling_tflops) {
      return measured;
    }
    FindCeiling(plan, tflops);
    return point_.experiment->Measure(point_.complete, plan, runs);
  }

  void Measure(experiment::RunPlan& plan, const std::vector<job::RunRecord>& runs) {
    Say("measuring");
    for (const job::RunRecord& record : runs) {
      if (const std::string starved = DescribeStarvation(record); !starved.empty()) {
        AddProvenance({{"starved", starved}});
      }
    }
    Result<experiment::Measured> measured = MeasureBelowCeiling(plan, runs);
    if (!measured.ok() && measured.status().code() == ErrorCode::kFailedPrecondition) {
      result_.measurement.series = runs.back().samples;
      return ConcludeRun(Outcome::kInvalid, measured.status().message());
    }
    if (!measured.ok()) {
      return Fail(measured.status());
    }
    result_.measurement.properties = std::move(measured->properties);
    result_.measurement.units = std::move(measured->units);
    result_.measurement.series = std::move(measured->series);
    ConcludeRun(Outcome::kValid, "");
  }

  const experiment::BoundPoint& point_;
  const MeasureOptions& options_;
  PointResult result_;
  std::string behind_;  ///< others, its progress: why the run was ended early
};

Status Note(samplestore::SampleStore& store, const MeasureOptions& options, const PointResult& result) {
  return options.operation_uid.empty()
             ? Status::Ok()
             : store.NoteResult(options.operation_uid, result.measurement.uid, result.source == Source::kReplayed);
}

Result<PointResult> RunAndRecord(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                                 const MeasureOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(PointResult result, PointRun(point, options).Execute());
  ASSAY_RETURN_IF_ERROR(store.Append(result.measurement));
  ASSAY_RETURN_IF_ERROR(Note(store, options, result));
  return result;
}

Result<PointResult> RecordClaimed(PointResult result, samplestore::SampleStore& store, const MeasureOptions& options,
                                  int64_t fence) {
  ASSAY_ASSIGN_OR_RETURN(const samplestore::AppendResult appended, store.AppendClaimed(result.measurement, fence));
  if (appended == samplestore::AppendResult::kRefused) {
    result.source = Source::kRefused;
    return result;
  }
  ASSAY_RETURN_IF_ERROR(Note(store, options, result));
  return result;
}

/// Holds the claim while it runs, whatever happens. A run whose claim is lost is ended: somebody else makes it.
Result<PointResult> RunClaimed(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                               const MeasureOptions& options, const samplestore::MemoKey& key, int64_t fence) {
  const ClaimHeartbeat heartbeat(store, key, fence, options.lease_seconds);
  MeasureOptions claimed = options;
  claimed.launch.cancelled = [&heartbeat] { return heartbeat.lost(); };
  Result<PointResult> result = PointRun(point, claimed).Execute();
  if (result.ok()) {
    result = RecordClaimed(*std::move(result), store, options, fence);
  }
  if (!result.ok()) {
    // The first error is what matters; a claim that stays ends with its lease.
    static_cast<void>(store.ReleaseClaim(key, fence));
  }
  return result;
}

Result<std::optional<PointResult>> Replayed(std::optional<Measurement> measured, samplestore::SampleStore& store,
                                            const MeasureOptions& options) {
  if (!measured) {
    return std::optional<PointResult>();
  }
  PointResult result{.source = Source::kReplayed, .measurement = *std::move(measured), .cause = {}};
  ASSAY_RETURN_IF_ERROR(Note(store, options, result));
  return std::optional<PointResult>(std::move(result));
}

Result<std::optional<PointResult>> Replay(const samplestore::MemoKey& key, const samplestore::Facts& here,
                                          samplestore::SampleStore& store, const MeasureOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(std::optional<Measurement> measured, store.FindMeasured(key, here));
  return Replayed(std::move(measured), store, options);
}

/// The newest that the same rule ended early here, if there is one and the point was never measured whole.
Result<std::optional<Measurement>> FindEndedEarly(const samplestore::MemoKey& key, const samplestore::Facts& here,
                                                  samplestore::SampleStore& store, const MeasureOptions& options) {
  if (options.early_rule.empty()) {
    return std::optional<Measurement>();
  }
  ASSAY_ASSIGN_OR_RETURN(const bool is_whole, store.IsMeasured(key, 1, here));
  if (is_whole) {
    return std::optional<Measurement>();
  }
  ASSAY_ASSIGN_OR_RETURN(std::vector<Measurement> runs, store.List({.parameterized_id = key.parameterized_id,
                                                                    .entity_id = key.entity_id,
                                                                    .outcome = Outcome::kFailed,
                                                                    .newest_first = true},
                                                                   /*with_series=*/true));
  const auto found = std::ranges::find_if(runs, [&](const Measurement& run) {
    return EndedEarly(run) && run.provenance.at(samplestore::kEndedEarly) == options.early_rule &&
           samplestore::Agrees(run.depends_on, here);
  });
  return found == runs.end() ? std::optional<Measurement>() : std::optional(std::move(*found));
}

}  // namespace

samplestore::Facts FactsHere(const experiment::BoundPoint& point, const MeasureOptions& options) {
  return Compared(options.reuse, ContentsHere(point, options.context), ProvenanceHere(point, options));
}

Result<bool> WasEndedEarly(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                           const MeasureOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(
      const std::optional<Measurement> early,
      FindEndedEarly({point.parameterized_id, point.entity_id}, FactsHere(point, options), store, options));
  return early.has_value();
}

Result<std::optional<PointResult>> ReplayPoint(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                                               const MeasureOptions& options) {
  const samplestore::MemoKey key = {point.parameterized_id, point.entity_id};
  const samplestore::Facts here = FactsHere(point, options);
  ASSAY_ASSIGN_OR_RETURN(const bool measured, store.IsMeasured(key, options.wanted, here));
  if (measured) {
    return Replay(key, here, store, options);
  }
  ASSAY_ASSIGN_OR_RETURN(std::optional<Measurement> early, FindEndedEarly(key, here, store, options));
  return Replayed(std::move(early), store, options);
}

Result<PointResult> MeasurePoint(const experiment::BoundPoint& point, samplestore::SampleStore& store,
                                 const MeasureOptions& options) {
  if (!options.replay) {
    return RunAndRecord(point, store, options);
  }
  const samplestore::MemoKey key = {point.parameterized_id, point.entity_id};
  const samplestore::Facts here = FactsHere(point, options);
  const std::string owner = samplestore::MakeClaimOwner();
  ASSAY_ASSIGN_OR_RETURN(const samplestore::Claim claim,
                         store.TryClaim(key, owner, options.lease_seconds, options.wanted, here));
  switch (claim.result) {
    case ClaimResult::kMeasured: {
      ASSAY_ASSIGN_OR_RETURN(std::optional<PointResult> replayed, Replay(key, here, store, options));
      // It may have been removed since.
      return replayed ? *std::move(replayed) : PointResult{.source = Source::kBusy, .measurement = {}, .cause = {}};
    }
    case ClaimResult::kBusy:
      return PointResult{.source = Source::kBusy, .measurement = {}, .cause = {}};
    case ClaimResult::kClaimed:
      return RunClaimed(point, store, options, key, claim.fence);
  }
  return Status::Internal("unknown claim result");
}

}  // namespace assay::explore
