// checkpoint_sharded_benchmark-v1.0.0: torch.distributed.checkpoint's format under FSDP, saved and loaded by all ranks.
//
// s3torchbenchmarking of s3-connector-for-pytorch (dcp_fsdp): the table of models, the properties' names and the
// arithmetic.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "experiment/checkpoint/checkpoint_benchmark.h"
#include "experiment/measured_values.h"
#include "experiment/property_spec.h"
#include "measure/statistics.h"
#include "objectserver/model/profile.h"

namespace assay::experiment {
namespace {

using space::Value;

constexpr double kStateMib = 1048576;
constexpr int64_t kVocabulary = 50432;
constexpr int64_t kMostModelledRanks = 4096;
/// Ranks without data.
constexpr char kModelled[] = "modelled";

/// A LlamaForCausalLM; small ones are ours.
struct LlamaSizes {
  const char* name;
  int64_t hidden;
  int64_t intermediate;
  int64_t layers;
  int64_t heads;
  int64_t key_value_heads;
};

constexpr LlamaSizes kLlamas[] = {
    {"L7b", 4096, 11008, 32, 32, 32},  {"L13b", 5120, 13824, 40, 40, 40}, {"L30b", 6656, 17920, 60, 52, 52},
    {"L65b", 8192, 22016, 80, 64, 64}, {"L70b", 8192, 28672, 80, 64, 8},  {"L405b", 16384, 53248, 126, 128, 8},
    {"L1b", 2048, 5504, 17, 16, 16},   {"L270m", 1024, 2816, 13, 16, 16}, {"L7m", 64, 176, 4, 4, 4},
};

space::Domain LlamaNames() {
  std::vector<Value> names;
  for (const LlamaSizes& model : kLlamas) {
    names.emplace_back(std::string(model.name));
  }
  return Choice(std::move(names));
}

std::vector<std::string> TensorsOf(const LlamaSizes& model) {
  std::vector<std::string> tensors;
  const int64_t key_value = model.hidden / model.heads * model.key_value_heads;
  const auto matrix = [&](const std::string& name, int64_t rows, int64_t columns) {
    tensors.push_back(fmt::format("{} {}x{}", name, rows, columns));
  };
  matrix("embed_tokens.weight", kVocabulary, model.hidden);
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    const std::string in = fmt::format("layers.{}.", layer);
    matrix(in + "self_attn.q_proj.weight", model.hidden, model.hidden);
    matrix(in + "self_attn.k_proj.weight", key_value, model.hidden);
    matrix(in + "self_attn.v_proj.weight", key_value, model.hidden);
    matrix(in + "self_attn.o_proj.weight", model.hidden, model.hidden);
    matrix(in + "mlp.gate_proj.weight", model.intermediate, model.hidden);
    matrix(in + "mlp.up_proj.weight", model.intermediate, model.hidden);
    matrix(in + "mlp.down_proj.weight", model.hidden, model.intermediate);
    tensors.push_back(fmt::format("{}input_layernorm.weight {}", in, model.hidden));
    tensors.push_back(fmt::format("{}post_attention_layernorm.weight {}", in, model.hidden));
  }
  tensors.push_back(fmt::format("norm.weight {}", model.hidden));
  matrix("lm_head.weight", kVocabulary, model.hidden);
  return tensors;
}

Status TakeModel(const Value& value, job::CheckpointPlan& plan) {
  const auto& name = std::get<std::string>(value);
  plan.tensors = TensorsOf(*std::ranges::find(kLlamas, name, &LlamaSizes::name));
  return Status::Ok();
}

std::vector<CheckpointProperty> ShardedProperties() {
  return {
      {As({.label = "model", .stands_alone = true, .role = Role::kModel},
          Required(
              "model", LlamaNames(),
              "a Llama in float32 with 50432 tokens; L1b is 4 GiB, L270m 1 GiB and L7m 28 MB, for small machines")),
       &TakeModel},
      {As({.label = "ranks", .role = Role::kMachine}, Required("world_size", Integers(1, kMostModelledRanks + 1),
                                                               "processes that the tensors' rows are shared out over")),
       &CheckpointField<&job::CheckpointPlan::number_ranks>},
      {As({.label = "threads a rank"},
          Optional("thread_count", Integers(1, 129), int64_t{1}, "files that a rank writes, one thread each")),
       &CheckpointField<&job::CheckpointPlan::files_per_rank>},
      {Optional("sharding_strategy", Texts({"full", "hybrid"}), std::string("full"),
                "of FSDP; the ranks of one machine are one group of shards, so that both lay out the same here")},
      {Optional("storage", TextsOrNone({"disk", "s3", "gs", "oci"}), kNone, "what uri names; None: whatever it is")},
      {Supporting(Optional("backend", Texts({"gloo", "nccl"}), std::string("gloo"),
                           "of the ranks' process group; clients of this program share memory instead"),
                  {std::string("gloo")})},
      {Optional("epochs", Integers(1, 1001), int64_t{4}, "saves or loads that are measured")},
      {Own(Optional("prefix_strategy", space::Domain::AnyText(), std::string("default"),
                    "how s3torchconnector names the files of ranks: default, binary, hex, or names with commas, which "
                    "ranks take in turn")),
       &CheckpointField<&job::CheckpointPlan::prefix>},
      {Own(Optional("prefix_epoch", Integers(-1, int64_t{1} << 31), int64_t{-1},
                    "an epoch's number behind the prefix in those names; -1: none")),
       &CheckpointField<&job::CheckpointPlan::prefix_epoch>},
      {Own(Optional("profile", space::Domain::AnyText(), std::string("same-region-s3"),
                    "of client modelled: what the store and its network allow, a file or a name as of assay object "
                    "serve; its total is that of a machine"))},
      {Own(Optional("ranks_per_machine", Integers(1, 129), int64_t{8}, "of client modelled: that share its network")),
       &CheckpointField<&job::CheckpointPlan::ranks_per_machine>},
      {Optional("suffix", space::Domain::AnyTextOrNone(), kNone, "a folder below uri for this point's checkpoints")},
  };
}

std::string StorageOf(std::string_view uri) {
  for (const char* scheme : {"s3", "gs", "oci"}) {
    if (uri.starts_with(std::string(scheme) + "://")) {
      return scheme;
    }
  }
  return "disk";
}

Status MakeModelled(const space::Entity& point, const PlanContext& context, job::CheckpointPlan& plan) {
  ASSAY_ASSIGN_OR_RETURN(const objectserver::Profile profile,
                         objectserver::ReadProfile(TextOf(point, "profile"), context.ShareFolder()));
  plan.modelled_ranks = std::exchange(plan.number_ranks, 1);
  plan.repeats = 1;
  plan.read_seconds = profile.read_latency.median_seconds;
  plan.slow_read_seconds = profile.read_latency.p99_seconds;
  plan.write_seconds = profile.write_latency.median_seconds;
  plan.slow_write_seconds = profile.write_latency.p99_seconds;
  plan.connection_bytes_per_s = profile.connection_bytes_per_s;
  plan.machine_bytes_per_s = profile.total_bytes_per_s;
  plan.prefix_reads_per_s = profile.reads_per_s;
  plan.prefix_writes_per_s = profile.writes_per_s;
  return Status::Ok();
}

Status SpecializeSharded(const space::Entity& point, const PlanContext& context, job::CheckpointPlan& plan) {
  const std::string storage = TextOf(point, "storage");
  if (const std::string is = StorageOf(TextOf(point, "uri")); !storage.empty() && storage != is) {
    return Status::InvalidArgument(fmt::format("storage is {}, but uri names {}: leave storage out", storage, is));
  }
  if (const std::string suffix = TextOf(point, "suffix"); !suffix.empty()) {
    plan.output_dir += "/" + suffix;
  }
  if (plan.client == kModelled) {
    return MakeModelled(point, context, plan);
  }
  return plan.number_ranks < kMaxRanks
             ? Status::Ok()
             : Status::InvalidArgument(fmt::format("{} ranks are for client {} alone", plan.number_ranks, kModelled));
}

/// By the reference's arithmetic: of each rank and epoch alone.
void MeasureSharded(const space::Entity& point, const job::RunRecord& run, Measured& values) {
  std::vector<double> seconds;
  std::vector<double> rates;
  for (const job::CheckpointTransfer& transfer : job::EventsOf<job::CheckpointTransfer>(run)) {
    seconds.push_back(transfer.seconds);
    rates.push_back(static_cast<double>(transfer.state_bytes) / kStateMib / transfer.seconds);
  }
  values.properties["throughput_mibs"] = measure::Mean(rates);
  values.properties["corrected_save_durations_s"] = measure::Mean(seconds);
  values.properties["processing_durations_s"] =
      run.wall_seconds / static_cast<double>(values.series["span_seconds"].size());
  values.series["throughput_mibs"] = std::move(rates);
  if (const auto* model = job::FindEvent<job::CheckpointModel>(run)) {
    values.properties["files"] = model->files;
    values.properties["prefixes"] = model->prefixes;
    values.properties["requests"] = model->requests;
    values.properties["busiest_prefix_requests"] = model->busiest_prefix_requests;
    values.properties["metadata_bytes"] = model->metadata_bytes;
    values.properties["commit_seconds"] = model->commit_seconds;
    values.properties["limited_by"] = model->limited_by;
  }
}

// clang-format off
std::vector<TargetSpec> ShardedTargets() {
  constexpr Definition kRef = Definition::kReference;
  constexpr Definition kExact = Definition::kExact;
  return {
      {"throughput_mibs", "MiB/s", kRef, "mean over ranks and epochs of MiB of the whole state / that rank's own time"},
      {"corrected_save_durations_s", "s", kRef, "mean over ranks and epochs of a rank's own time, of loads too"},
      {"processing_durations_s", "s", kRef, "wall time of the run / epochs: the reference starts its processes anew for each"},
      {"files", "", kExact, "of client modelled, as the rest: files that the ranks write"},
      {"prefixes", "", kExact, "of keys that these lie under"},
      {"requests", "", kExact, "of all ranks, the commit's among them"},
      {"busiest_prefix_requests", "", kExact, "the most under one prefix"},
      {"metadata_bytes", "B", kExact, "about what .metadata and the manifest have, which every rank reads before a load"},
      {"commit_seconds", "s", kExact, "of a save: after the slowest rank, until it counts"},
      {"limited_by", "", kExact, "what the slowest rank waits for most, or all for rank 0"},
  };
}
// clang-format on

}  // namespace

const Experiment& CheckpointShardedBenchmark() {
  static const CheckpointExperiment experiment(
      {.id = "checkpoint_sharded_benchmark-v1.0.0",
       .description = "Time, memory and processors of sharded checkpoints (DCP under FSDP) to disks and buckets",
       .clients = {{"assay", true, true, true},
                   {"assay-async", true, true, true},
                   {kModelled, true, true, true},
                   {"s3torchconnector", false, true},
                   {"fsspec", true, true},
                   {"raw", true, false},
                   {"torch", true, false}},
       .repeats = "epochs",
       .properties = ShardedProperties(),
       .specialize = &SpecializeSharded,
       .targets = ShardedTargets(),
       .measure = &MeasureSharded});
  return experiment;
}

}  // namespace assay::experiment
