#include "job/plan_fields.h"

namespace assay::job {

Status CheckPlanSchema(const nlohmann::json& object, int64_t newest) {
  int64_t schema = 0;
  ASSAY_RETURN_IF_ERROR(ReadField(object, "schema", schema).WithContext(kPlanSource));
  if (schema < 1) {
    return Status::InvalidArgument(std::string(kPlanSource) + ": 'schema' is missing or below 1, so this is no plan");
  }
  if (schema > newest) {
    return Status::FailedPrecondition(std::string(kPlanSource) + ": schema " + std::to_string(schema) +
                                      " is newer than this program's " + std::to_string(newest) +
                                      " (use the programs of one release together)");
  }
  return Status::Ok();
}

nlohmann::json KnobsToJson(const PluginKnobs& knobs) {
  nlohmann::json object;
  VisitKnobs(knobs, [&](const char* name, const auto& field) { object[name] = field; });
  return object;
}

Status ReadKnobs(const nlohmann::json& plan, PluginKnobs& knobs) {
  const auto object = plan.find("knobs");
  if (object == plan.end()) {
    return Status::Ok();
  }
  const FieldReader reader(*object);
  VisitKnobs(knobs, reader);
  return reader.Finish({}, std::string(kPlanSource) + ": knobs");
}

}  // namespace assay::job
