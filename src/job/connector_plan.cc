#include "job/connector_plan.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "job/plan_fields.h"

namespace assay::job {
namespace {

using nlohmann::json;

constexpr char kConnectorKind[] = "connector";
constexpr char kFineTune[] = "fine_tune";

template <typename Plan, typename Visitor>
void VisitConnectorFields(Plan& plan, const Visitor& visit) {
  visit("connector", plan.connector);
  visit("program", plan.program);
  visit("rows_file", plan.rows_file);
  visit("rows", plan.rows);
  visit("rows_digest", plan.rows_digest);
  visit("uri", plan.uri);
  visit("work_dir", plan.work_dir);
  visit("step", plan.step);
  visit("step_began_seconds", plan.step_began_seconds);
  visit("compression", plan.compression);
  visit("shard_bytes", plan.shard_bytes);
  visit("cache_bytes", plan.cache_bytes);
  visit("workers", plan.workers);
  visit("convert_workers", plan.convert_workers);
  visit("thousand_reads_usd", plan.thousand_reads_usd);
  visit("thousand_writes_usd", plan.thousand_writes_usd);
  visit("gigabyte_month_usd", plan.gigabyte_month_usd);
}

}  // namespace

Status CheckConnectorPlan(const ConnectorPlan& plan) {
  if (plan.uri.empty() || plan.uri.ends_with('/') || plan.rows_file.empty()) {
    return Status::InvalidArgument("uri must name a folder or a bucket's prefix, rows_file a file of rows");
  }
  if (plan.shard_bytes < 1 || plan.workers < 1 || plan.convert_workers < 1) {
    return Status::InvalidArgument("shard_bytes, workers and convert_workers must be 1 or more");
  }
  if (plan.compression.empty()) {
    return Status::InvalidArgument("compression is empty: the second step needs one, such as zstd");
  }
  if (plan.number_ranks != 1) {
    return Status::Unsupported("number_ranks is " + std::to_string(plan.number_ranks) +
                               ": a connector test is of one rank");
  }
  if (!plan.step.empty() &&
      (std::ranges::find(kStepsOfTheirOwn, std::string_view(plan.step)) == std::end(kStepsOfTheirOwn) ||
       plan.work_dir.empty())) {
    return Status::InvalidArgument("step must be one that has a process of its own, and work_dir the test's folder");
  }
  // Two checkpoints at least: the resumed run goes on from the last but one.
  if (plan.save_every < 1 || plan.max_steps < 2 * plan.save_every) {
    return Status::InvalidArgument("max_steps is " + std::to_string(plan.max_steps) + " with a checkpoint every " +
                                   std::to_string(plan.save_every) +
                                   " steps: what is resumed needs two of them at least");
  }
  return Status::Ok();
}

json ToJson(const ConnectorPlan& plan) {
  json object = {{"schema", ConnectorPlan::kSchema}, {"kind", kConnectorKind}};
  VisitConnectorFields(plan, [&](const char* name, const auto& field) { object[name] = field; });
  object[kFineTune] = ToJson(static_cast<const TunePlan&>(plan));
  return object;
}

Result<ConnectorPlan> ConnectorPlanFromJson(const json& object) {
  ASSAY_RETURN_IF_ERROR(CheckPlanSchema(object, ConnectorPlan::kSchema));
  ConnectorPlan plan;
  if (!object.contains(kFineTune)) {
    return Status::InvalidArgument(std::string(kPlanSource) + ": '" + kFineTune + "' is missing");
  }
  ASSAY_ASSIGN_OR_RETURN(static_cast<TunePlan&>(plan), TunePlanFromJson(object[kFineTune]));
  const FieldReader reader(object);
  VisitConnectorFields(plan, reader);
  ASSAY_RETURN_IF_ERROR(reader.Finish({"schema", "kind", kFineTune}, kPlanSource));
  return plan;
}

}  // namespace assay::job
