#include "job/checkpoint_plan.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "job/plan_fields.h"

namespace assay::job {
namespace {

using nlohmann::json;

constexpr char kCheckpointKind[] = "checkpoint";

template <typename Plan, typename Visitor>
void VisitCheckpointFields(Plan& plan, const Visitor& visit) {
  VisitTrainingFields(plan, visit);
  visit("client", plan.client);
  visit("program", plan.program);
  visit("format", plan.format);
  visit("tensors", plan.tensors);
  visit("layers", plan.layers);
  visit("operation", plan.operation);
  visit("repeats", plan.repeats);
  visit("files_per_rank", plan.files_per_rank);
  visit("prefix", plan.prefix);
  visit("prefix_epoch", plan.prefix_epoch);
  visit("streams", plan.streams);
  visit("sync_files", plan.sync_files);
  visit("clear_cache", plan.clear_cache);
  visit("keeps_last", plan.keeps_last);
  visit("modelled_ranks", plan.modelled_ranks);
  visit("ranks_per_machine", plan.ranks_per_machine);
  visit("read_seconds", plan.read_seconds);
  visit("slow_read_seconds", plan.slow_read_seconds);
  visit("write_seconds", plan.write_seconds);
  visit("slow_write_seconds", plan.slow_write_seconds);
  visit("connection_bytes_per_s", plan.connection_bytes_per_s);
  visit("machine_bytes_per_s", plan.machine_bytes_per_s);
  visit("prefix_reads_per_s", plan.prefix_reads_per_s);
  visit("prefix_writes_per_s", plan.prefix_writes_per_s);
}

Status CheckWord(const char* name, const std::string& value, std::initializer_list<std::string_view> words) {
  std::string list;
  for (const std::string_view word : words) {
    if (value == word) {
      return Status::Ok();
    }
    list += (list.empty() ? "" : ", ") + std::string(word);
  }
  return Status::InvalidArgument(std::string(name) + " is '" + value + "': it must be one of " + list);
}

Status CheckState(const CheckpointPlan& plan) {
  if (plan.format == "ckpt") {
    return plan.number_ranks == 1 && plan.layers >= 1
               ? Status::Ok()
               : Status::InvalidArgument("a ckpt is written by one rank, of a model of one layer or more: there are " +
                                         std::to_string(plan.number_ranks) + " and " + std::to_string(plan.layers));
  }
  for (const std::string& text : plan.tensors) {
    ASSAY_RETURN_IF_ERROR(ParsePlannedTensor(text).status());
  }
  return plan.tensors.empty() ? Status::InvalidArgument("tensors is empty: there is nothing to save") : Status::Ok();
}

}  // namespace

Result<PlannedTensor> ParsePlannedTensor(const std::string& text) {
  const size_t space = text.rfind(' ');
  PlannedTensor tensor{.name = text.substr(0, space), .shape = {}};
  bool is_one = space != std::string::npos && space + 1 < text.size();
  for (const std::string& size : Split(is_one ? text.substr(space + 1) : "", 'x')) {
    int64_t& value = tensor.shape.emplace_back(0);
    const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), value);
    is_one = is_one && error == std::errc() && end == size.data() + size.size() && value >= 1;
  }
  return is_one
             ? Result<PlannedTensor>(std::move(tensor))
             : Status::InvalidArgument("'" + text + "' is no tensor: write its name and its sizes, such as 'w 64x32'");
}

Status CheckCheckpointPlan(const CheckpointPlan& plan) {
  ASSAY_RETURN_IF_ERROR(CheckWord("format", plan.format, {"dcp", "ckpt"}));
  ASSAY_RETURN_IF_ERROR(CheckWord("operation", plan.operation, {"save", "load"}));
  ASSAY_RETURN_IF_ERROR(CheckWord("checkpoint_writer", plan.checkpoint_writer, {"sync", "async"}));
  if (plan.output_dir.empty()) {
    return Status::InvalidArgument("output_dir is empty: name a folder or a bucket's prefix");
  }
  if (plan.repeats < 1 || plan.files_per_rank < 1 || plan.streams < 0) {
    return Status::InvalidArgument("repeats and files_per_rank must be 1 or more, streams 0 or more");
  }
  if (plan.modelled_ranks < 0 || plan.ranks_per_machine < 1 || (plan.modelled_ranks > 0 && plan.number_ranks > 1)) {
    return Status::InvalidArgument("modelled_ranks are those of one rank, with 1 or more on a machine");
  }
  return CheckState(plan);
}

json ToJson(const CheckpointPlan& plan) {
  json object = {{"schema", CheckpointPlan::kSchema}, {"kind", kCheckpointKind}};
  VisitCheckpointFields(plan, [&](const char* name, const auto& field) { object[name] = field; });
  object["knobs"] = KnobsToJson(plan.knobs);
  return object;
}

Result<CheckpointPlan> CheckpointPlanFromJson(const json& object) {
  ASSAY_RETURN_IF_ERROR(CheckPlanSchema(object, CheckpointPlan::kSchema));
  CheckpointPlan plan;
  const FieldReader reader(object);
  VisitCheckpointFields(plan, reader);
  ASSAY_RETURN_IF_ERROR(reader.Finish({"schema", "kind", "knobs"}, kPlanSource));
  ASSAY_RETURN_IF_ERROR(ReadKnobs(object, plan.knobs));
  return plan;
}

}  // namespace assay::job
