#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/files.h"
#include "base/text.h"
#include "data/model_catalogue.h"
#include "data/prepare.h"
#include "experiment/connector/connector.h"
#include "experiment/model_hash.h"
#include "experiment/property_spec.h"
#include "experiment/training_ranks.h"

namespace assay::experiment {
namespace {

constexpr std::string_view kFileScheme = "file://";

std::string SchemeOf(const std::string& uri) {
  const size_t end = uri.find("://");
  return end == std::string::npos ? "file" : uri.substr(0, end);
}

Result<data::ModelRef> ModelOfConnector(const space::Entity& point, const PlanContext& context) {
  return data::ResolveModel(context.ModelNamed(TextOf(point, "model_name")), context.ShareFolder());
}

data::DataSpec DataSpecOf(const space::Entity& point, const data::ModelRef& model, const PlanContext& context) {
  data::DataSpec spec;
  spec.data = context.DataNamed(TextOf(point, "dataset_id"));
  spec.tokenizer_dir = model.tokenizer_dir;
  spec.no_tokenizer = model.no_tokenizer;
  spec.max_length = IntegerOf(point, "model_max_length");
  spec.share_dir = context.ShareFolder();
  spec.cache_dir = context.CacheFolder();
  return spec;
}

/// Without what is looked up in files.
Result<job::ConnectorPlan> PlanOfPoint(const space::Entity& point) {
  job::ConnectorPlan plan;
  plan.lora.target_modules = data::DefaultLoraTargets(TextOf(point, "model_name"));
  plan.lr_scheduler_type = "constant";
  plan.warmup_ratio = 0;
  plan.shuffle = true;
  ASSAY_RETURN_IF_ERROR(TakeAll(ConnectorProperties(), point, plan));
  if (plan.uri.starts_with(kFileScheme)) {
    plan.uri.erase(0, kFileScheme.size());  // to libraries all that has a scheme is a bucket
  }
  while (plan.uri.size() > 1 && plan.uri.ends_with('/')) {
    plan.uri.pop_back();
  }
  // A folder of the point's own: another that is measured meanwhile finds and removes nothing of it.
  plan.uri +=
      fmt::format("/connector-benchmark/{}/{}", plan.connector, Sha256Hex(space::EntityId(point)).substr(0, 16));
  return plan;
}

class ConnectorExperiment : public Experiment {
 public:
  ConnectorExperiment()
      : Experiment({.id = "connector_finetune_benchmark-v1.0.0",
                    .description = "Six steps of a data set in a bucket, from rows to a fine-tune that streams it",
                    .properties = SpecsOf(ConnectorProperties()),
                    .targets = ConnectorTargets(),
                    .report = ConnectorReport()}) {}

  Verdict Check(const space::Entity& point) const override {
    const ConnectorInfo& connector = ConnectorNamed(TextOf(point, "connector"));
    const std::string scheme = SchemeOf(TextOf(point, "uri"));
    const std::string compression = TextOf(point, "compression");
    if (!connector.is_ours && std::ranges::find(connector.schemes, scheme) == connector.schemes.end()) {
      return {fmt::format("connector {} cannot reach {}: it knows {}", connector.name, TextOf(point, "uri"),
                          Join(connector.schemes, ", "))};
    }
    if (std::ranges::find(connector.compressions, compression) == connector.compressions.end()) {
      return {fmt::format("connector {} has no compression {}: choose {}", connector.name, compression,
                          Join(connector.compressions, " or "))};
    }
    if (!connector.is_ours && IntegerOf(point, "convert_workers") > 1) {
      return {fmt::format("connector {} converts in one process: convert_workers must be 1", connector.name)};
    }
    Result<job::ConnectorPlan> plan = PlanOfPoint(point);
    if (!plan.ok()) {
      return {plan.status().message()};
    }
    plan->rows_file = "rows";
    const Status status = job::CheckConnectorPlan(*plan);
    return {status.ok() ? "" : status.message()};
  }

  Status CheckInputs(const space::Entity& point, const PlanContext& context) const override {
    ASSAY_RETURN_IF_ERROR(CheckSupported(*this, point));
    const ConnectorInfo& connector = ConnectorNamed(TextOf(point, "connector"));
    if (!connector.is_ours && !context.runs_here()) {
      return Status::Unsupported(
          fmt::format("connector {} is started on this machine alone (--launcher local)", connector.name));
    }
    ASSAY_RETURN_IF_ERROR(CheckVisibleGpus(IntegerOf(point, "number_gpus"), context));
    ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model, ModelOfConnector(point, context));
    return model.tokenizer_dir.empty() ? Status::InvalidArgument(model.no_tokenizer) : Status::Ok();
  }

  Result<std::map<std::string, std::string>> Contents(const space::Entity& point,
                                                      const PlanContext& context) const override {
    ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model, ModelOfConnector(point, context));
    ASSAY_ASSIGN_OR_RETURN(const std::string model_hash, HashModel(model.dir, context.CacheFolder()));
    ASSAY_ASSIGN_OR_RETURN(const data::DataContent data, data::HashData(DataSpecOf(point, model, context)));
    std::map<std::string, std::string> contents = {
        {"model_hash", model_hash}, {"data_hash", data.data_hash}, {"tokenizer_hash", data.tokenizer_hash}};
    ASSAY_ASSIGN_OR_RETURN(std::string libraries,
                           LibrariesOf(ConnectorNamed(TextOf(point, "connector")), context.ShareFolder()));
    if (!libraries.empty()) {
      contents["libraries"] = std::move(libraries);
    }
    return contents;
  }

  Result<RunPlan> Plan(const space::Entity& point, const PlanContext& context) const override {
    const double start = MonotonicSeconds();
    ASSAY_RETURN_IF_ERROR(CheckInputs(point, context));
    ASSAY_ASSIGN_OR_RETURN(job::ConnectorPlan work, PlanOfPoint(point));
    ASSAY_ASSIGN_OR_RETURN(const data::ModelRef model, ModelOfConnector(point, context));
    work.model_dir = model.dir;
    work.tokenizer = model.tokenizer_dir;
    work.response_template = std::string(data::kDefaultResponseTemplate);
    work.threads = ThreadsOfRank(work.threads, work.number_ranks, context);
    ASSAY_ASSIGN_OR_RETURN(RowsFile rows, ConnectorRows(context.DataNamed(TextOf(point, "dataset_id")), context));
    work.rows_file = std::move(rows.path);
    work.rows = rows.rows;
    work.rows_digest = rows.digest;
    if (!ConnectorNamed(work.connector).is_ours) {
      work.program = context.ShareFolder() + "/peers/connector-worker";
    }
    RunPlan plan;
    ASSAY_ASSIGN_OR_RETURN(plan.provenance, Contents(point, context));
    plan.provenance["model"] = model.name;
    plan.provenance["weights"] = model.has_weights ? "file" : "random";
    plan.provenance["dataset"] = TextOf(point, "dataset_id");
    plan.provenance["connector"] = work.connector;
    ASSAY_ASSIGN_OR_RETURN(
        const std::optional<StorePrices> prices,
        PricesOf(work.uri, TextOf(point, "priced_as"), context.ShareFolder(), storage::ProcessVariables()));
    if (prices) {
      work.thousand_reads_usd = prices->thousand_reads;
      work.thousand_writes_usd = prices->thousand_writes;
      work.gigabyte_month_usd = prices->gigabyte_month;
      plan.provenance["prices"] =
          fmt::format("{}: USD {} a thousand reads, {} a thousand writes, {} a GiB and month", prices->as_of,
                      prices->thousand_reads, prices->thousand_writes, prices->gigabyte_month);
    }
    plan.work = std::move(work);
    plan.seconds = MonotonicSeconds() - start;
    return plan;
  }

  Result<Measured> Measure(const space::Entity&, const RunPlan& plan,
                           std::span<const job::RunRecord> runs) const override {
    return MeasureConnector(plan, runs.front());
  }
};

}  // namespace

const Experiment& ConnectorFinetuneBenchmark() {
  static const ConnectorExperiment experiment;
  return experiment;
}

}  // namespace assay::experiment
