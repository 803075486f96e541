#include "experiment/checkpoint/checkpoint_benchmark.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "experiment/measured_values.h"
#include "experiment/property_spec.h"
#include "experiment/training_ranks.h"

namespace assay::experiment {
namespace {

using space::Domain;
using space::Value;

bool IsBucket(const std::string& uri) {
  return uri.find("://") != std::string::npos && !uri.starts_with("file://");
}

bool IsNameOfBucket(std::string_view text) {
  return IsBucket(std::string(text));
}

std::string NamesOfOurs(const std::vector<CheckpointClient>& clients) {
  std::vector<std::string> ours;
  for (const CheckpointClient& client : clients) {
    if (client.is_ours) {
      ours.emplace_back(client.name);
    }
  }
  return Join(ours, ", ");
}

PropertySpec ClientProperty(const std::vector<CheckpointClient>& clients) {
  std::vector<Value> names;
  std::vector<Value> supported;
  for (const CheckpointClient& client : clients) {
    names.emplace_back(std::string(client.name));
    if (client.is_supported) {
      supported.push_back(names.back());
    }
  }
  return Supporting(As({.label = "client", .stands_alone = true, .role = Role::kSeries, .baseline = names.back()},
                       Required("client", Choice(names),
                                "who saves and loads: " + NamesOfOurs(clients) +
                                    " are this program's, the others libraries that script/peers installs")),
                    std::move(supported));
}

std::vector<CheckpointProperty> SharedProperties(const std::vector<CheckpointClient>& clients) {
  return {
      {ClientProperty(clients), &CheckpointField<&job::CheckpointPlan::client>},
      {NameOrPath(Required("uri", Domain::AnyText(),
                           "a folder, or the prefix of a bucket (s3://...), reached as the environment says; what is "
                           "saved goes below it, into checkpoint-benchmark/CLIENT/ and a folder of the point's own"),
                  &IsNameOfBucket),
       &CheckpointField<&job::CheckpointPlan::output_dir>},
      {As({.label = "operation", .stands_alone = true},
          Optional("operation", Texts({"save", "load"}), std::string("save"),
                   "load: of a checkpoint that the same client made before")),
       &CheckpointField<&job::CheckpointPlan::operation>},
      {Own(Optional("protocol", Texts({"fair", "published", "mlperf"}), std::string("fair"),
                    "fair: on disks saves end written through, and loads begin without the page cache; published: as "
                    "the reference's scripts, neither; mlperf: as fair, ten times"))},
      {Optional("sync_files", Choice({kNone, false, true}), kNone,
                "whether a save on a disk ends when its files are written through; None: as the protocol has it"),
       &CheckpointField<&job::CheckpointPlan::sync_files>},
      {Optional("clear_cache", Choice({kNone, false, true}), kNone,
                "whether the page cache is told to drop the checkpoint before each load: a cold one; None: as the "
                "protocol has it"),
       &CheckpointField<&job::CheckpointPlan::clear_cache>},
      {Own(Optional("keep_checkpoint", Domain::Binary(), false, "the last checkpoint stays where it is")),
       &CheckpointField<&job::CheckpointPlan::keeps_last>},
      {Optional("seed", Integers(0, int64_t{1} << 31), int64_t{42}, "of what is saved"),
       &CheckpointField<&job::CheckpointPlan::seed>},
      {Own(Optional("threads", Integers(0, 1025), int64_t{0}, "CPU threads a rank; 0: its share")),
       &CheckpointField<&job::CheckpointPlan::threads>},
  };
}

std::vector<CheckpointProperty> CheckpointProperties(const CheckpointDefinition& definition) {
  return WithOwn(definition.properties, SharedProperties(definition.clients));
}

Declaration DeclareCheckpoints(const CheckpointDefinition& definition) {
  Declaration declaration{.id = definition.id,
                          .description = definition.description,
                          .properties = SpecsOf(CheckpointProperties(definition)),
                          .targets = definition.targets,
                          .report = definition.report};
  std::ranges::copy(SharedCheckpointTargets(), std::back_inserter(declaration.targets));
  return declaration;
}

/// Of what the point leaves to its protocol.
void FollowProtocol(const space::Entity& point, const std::string& repeats, job::CheckpointPlan& plan) {
  const std::string protocol = TextOf(point, "protocol");
  if (point.at("sync_files") == kNone) {
    plan.sync_files = protocol != "published";
  }
  if (point.at("clear_cache") == kNone) {
    plan.clear_cache = protocol != "published";
  }
  plan.repeats = protocol == "mlperf" ? 10 : IntegerOf(point, repeats);
}

/// Points that are measured at the same time remove nothing of each other's; the same one finds what it left.
std::string NameOfFolder(const job::CheckpointPlan& plan) {
  constexpr size_t kDigits = 8;
  return Sha256Hex(DumpJson(ToJson(plan))).substr(0, kDigits);
}

}  // namespace

CheckpointExperiment::CheckpointExperiment(CheckpointDefinition definition)
    : Experiment(DeclareCheckpoints(definition)), definition_(std::move(definition)) {}

const CheckpointClient& CheckpointExperiment::ClientOf(const space::Entity& point) const {
  const std::string name = TextOf(point, "client");
  return *std::ranges::find_if(definition_.clients,
                               [&](const CheckpointClient& client) { return name == client.name; });
}

Result<job::CheckpointPlan> CheckpointExperiment::PlanOf(const space::Entity& point, const PlanContext& context) const {
  job::CheckpointPlan plan;
  ASSAY_RETURN_IF_ERROR(TakeAll(CheckpointProperties(definition_), point, plan));
  // Libraries take a path as it is.
  if (constexpr std::string_view kFile = "file://"; plan.output_dir.starts_with(kFile)) {
    plan.output_dir.erase(0, kFile.size());
  }
  while (plan.output_dir.size() > 1 && plan.output_dir.ends_with('/')) {
    plan.output_dir.pop_back();
  }
  plan.output_dir += "/checkpoint-benchmark/" + plan.client;
  plan.device = "cpu";
  FollowProtocol(point, definition_.repeats, plan);
  ASSAY_RETURN_IF_ERROR(definition_.specialize(point, context, plan));
  if (ClientOf(point).is_ours) {
    plan.checkpoint_writer = plan.client.ends_with("-async") ? "async" : "sync";
  }
  plan.output_dir += "/" + NameOfFolder(plan);
  return plan;
}

Verdict CheckpointExperiment::Check(const space::Entity& point) const {
  const CheckpointClient& client = ClientOf(point);
  const std::string uri = TextOf(point, "uri");
  if (IsBucket(uri) && !client.is_ours && !(client.in_buckets && uri.starts_with("s3://"))) {
    return {fmt::format("client {} cannot reach {}: {}", client.name, uri,
                        client.in_buckets ? "it knows s3:// alone" : "it knows folders alone")};
  }
  if (!IsBucket(uri) && !client.on_disk) {
    return {client.is_ours ? fmt::format("client {} is one connection to a bucket: {} is a folder, for client assay",
                                         client.name, uri)
                           : fmt::format("client {} knows s3:// alone: {} is a folder", client.name, uri)};
  }
  if (TextOf(point, "protocol") != "published" && point.at("sync_files") == Value(false)) {
    return {"sync_files False is what protocol published has: a save that no disk has yet is no checkpoint"};
  }
  const Result<job::CheckpointPlan> plan = PlanOf(point);
  const Status status = plan.ok() ? job::CheckCheckpointPlan(*plan) : plan.status();
  return {status.ok() ? "" : status.message()};
}

Status CheckpointExperiment::CheckInputs(const space::Entity& point, const PlanContext& context) const {
  ASSAY_RETURN_IF_ERROR(CheckSupported(*this, point));
  return ClientOf(point).is_ours || context.runs_here()
             ? Status::Ok()
             : Status::Unsupported(fmt::format("client {} is started on this machine alone (--launcher local)",
                                               TextOf(point, "client")));
}

Result<std::map<std::string, std::string>> CheckpointExperiment::Contents(const space::Entity& point,
                                                                          const PlanContext&) const {
  // What is saved follows from the point alone.
  return std::map<std::string, std::string>{{"model_hash", "of the point"}};
}

Result<RunPlan> CheckpointExperiment::Plan(const space::Entity& point, const PlanContext& context) const {
  const double start = MonotonicSeconds();
  ASSAY_RETURN_IF_ERROR(CheckInputs(point, context));
  ASSAY_ASSIGN_OR_RETURN(job::CheckpointPlan work, PlanOf(point, context));
  ASSAY_RETURN_IF_ERROR(CheckRanksFitHere(work, context));
  work.threads = ThreadsOfRank(work.threads, work.number_ranks, context);
  if (!ClientOf(point).is_ours) {
    work.program = context.ShareFolder() + "/peers/checkpoint-worker";
  }
  RunPlan plan;
  ASSAY_ASSIGN_OR_RETURN(plan.provenance, Contents(point, context));
  plan.provenance["client"] = work.client;
  plan.work = std::move(work);
  plan.seconds = MonotonicSeconds() - start;
  return plan;
}

Result<Measured> CheckpointExperiment::Measure(const space::Entity& point, const RunPlan& plan,
                                               std::span<const job::RunRecord> runs) const {
  const job::RunRecord& run = runs.front();
  ASSAY_ASSIGN_OR_RETURN(Measured values, MeasureTransfers(std::get<job::CheckpointPlan>(plan.work), run));
  values.properties["plan_seconds"] = plan.seconds;
  definition_.measure(point, run, values);
  ASSAY_RETURN_IF_ERROR(CheckFinite(values));
  AddUnits(targets(), values);
  return values;
}

}  // namespace assay::experiment
