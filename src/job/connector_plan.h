// The plan of a connector test: rows made into data sets in a place, counted, streamed, and fine-tuned on.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/status.h"
#include "job/tune_plan.h"

namespace assay::job {

/// Plain data. As a TunePlan it is the fine-tune, but for where its data and checkpoints are: these lie below `uri`,
/// and below work_dir for the fine-tune that is local. It goes over one rank, and max_steps says how far.
///
/// A worker carries out the steps in this order and ends each with a ConnectorStep: optimise (rows_file into
/// uri/plain/, uncompressed), optimise_compressed (into uri/packed/), count (objects of both), size (bytes of both),
/// stream and stream_compressed (a pass over each, shuffled), fine_tune (from uri/plain/, checkpoints every save_every
/// steps into uri/run/), resume (the same without its last checkpoint, as if it had been lost before that stood),
/// fine_tune_local (the same plan, data and checkpoints in folders) and fine_tune_again (as fine_tune, into uri/again/:
/// what the machine drifts by stands between the two). What it wrote below `uri` it removes, whatever it ends by.
///
/// Each of kStepsOfTheirOwn has a process of its own, as a library's has and as what goes on after a crash has: nothing
/// of another step is warm in it. It is started as the worker was, by the same plan with `step`, and its events are the
/// worker's.
struct ConnectorPlan : TunePlan {
  static constexpr int kSchema = 1;

  std::string connector = "assay";
  std::string program;             ///< that carries the plan out, started as a worker is; empty: assay-worker
  std::string rows_file;           ///< lines of JSON with the texts prompt and completion
  int64_t rows = 0;                ///< of that file
  int64_t rows_digest = 0;         ///< of the same: row_digest.h
  std::string uri;                 ///< a folder or a bucket's prefix, without '/' at its end
  std::string work_dir;            ///< a folder for what is local; empty: a temporary one
  std::string step;                ///< this one alone, of a test whose process made what it reads; empty: the test
  double step_began_seconds = 0;   ///< on the monotonic clock, when the process of `step` was started
  std::string compression;         ///< of optimise_compressed, whole shards: "zstd"
  int64_t shard_bytes = 64 << 20;  ///< of a shard, uncompressed, at most
  int64_t cache_bytes = 0;         ///< of shards on disk while they are streamed, a cold cache for each step; 0: none
  int64_t workers = 1;             ///< threads, or processes, that load
  int64_t convert_workers = 1;     ///< likewise, that convert

  // What the controller adds costs up by, in USD; a worker does not look at it. 0: not known.
  double thousand_reads_usd = 0;
  double thousand_writes_usd = 0;
  double gigabyte_month_usd = 0;
};

/// Steps that read a data set.
inline constexpr const char* kStepsOfTheirOwn[] = {"stream", "stream_compressed", "fine_tune",
                                                   "resume", "fine_tune_local",   "fine_tune_again"};

/// What decides whether a plan can be carried out apart from its place. One line.
Status CheckConnectorPlan(const ConnectorPlan& plan);

/// JSON both ways, with "kind": "connector" and the fine-tune below "fine_tune". Reading refuses an unknown key and a
/// newer schema by name; it does not check values.
nlohmann::json ToJson(const ConnectorPlan& plan);
Result<ConnectorPlan> ConnectorPlanFromJson(const nlohmann::json& json);

}  // namespace assay::job
