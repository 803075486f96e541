// How the fields of a plan are read from JSON: shared by the kinds of plans, of no use to others.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "job/training_plan.h"

namespace assay::job {

/// What errors about a plan begin with.
inline constexpr char kPlanSource[] = "plan";

/// The one list of the fields that all kinds of plans have, the knobs apart: `visit(name, field)` for each.
template <typename Plan, typename Visitor>
void VisitTrainingFields(Plan& plan, const Visitor& visit) {
  visit("model_dir", plan.model_dir);
  visit("data_uri", plan.data_uri);
  visit("data_fingerprint", plan.data_fingerprint);
  visit("data_cache", plan.data_cache);
  visit("data_cache_bytes", plan.data_cache_bytes);
  visit("data_threads", plan.data_threads);
  visit("shuffle", plan.shuffle);
  visit("seed", plan.seed);
  visit("plugin", plan.plugin);
  visit("number_ranks", plan.number_ranks);
  visit("number_nodes", plan.number_nodes);
  visit("timeout_seconds", plan.timeout_seconds);
  visit("trace_dir", plan.trace_dir);
  visit("batch_size", plan.batch_size);
  visit("gradient_accumulation_steps", plan.gradient_accumulation_steps);
  visit("gradient_checkpointing", plan.gradient_checkpointing);
  visit("optimizer", plan.optimizer);
  visit("learning_rate", plan.learning_rate);
  visit("weight_decay", plan.weight_decay);
  visit("lr_scheduler_type", plan.lr_scheduler_type);
  visit("warmup_ratio", plan.warmup_ratio);
  visit("max_grad_norm", plan.max_grad_norm);
  visit("max_steps", plan.max_steps);
  visit("num_train_epochs", plan.num_train_epochs);
  visit("stop_after_seconds", plan.stop_after_seconds);
  visit("device", plan.device);
  visit("threads", plan.threads);
  visit("memory_budget_bytes", plan.memory_budget_bytes);
  visit("output_dir", plan.output_dir);
  visit("save", plan.save);
  visit("save_every", plan.save_every);
  visit("resume", plan.resume);
  visit("checkpoint_writer", plan.checkpoint_writer);
  visit("local_dir", plan.local_dir);
  visit("keep", plan.keep);
  visit("keep_best", plan.keep_best);
  visit("keep_best_by", plan.keep_best_by);
  visit("max_shard_mib", plan.max_shard_mib);
}

/// A visitor of a plan's fields, `visit(name, field)`, that reads each from `object`. Keeps the first error, and the
/// names it was asked for. `object` must outlive it.
class FieldReader {
 public:
  explicit FieldReader(const nlohmann::json& object) : object_(object) {}

  template <typename T>
  void operator()(const char* name, T& field) const {
    names_.emplace_back(name);
    if (status_.ok()) {
      status_ = ReadField(object_, name, field);
    }
  }

  /// The first error; a key that no field asked for, and that is not in `other_names`, is one.
  Status Finish(std::vector<std::string> other_names, const std::string& source) const {
    other_names.insert(other_names.end(), names_.begin(), names_.end());
    ASSAY_RETURN_IF_ERROR(CheckKeys(object_, other_names, source));
    return status_.WithContext(source);
  }

 private:
  const nlohmann::json& object_;
  mutable std::vector<std::string> names_;
  mutable Status status_;
};

/// Refuses an object without a schema, and one of a schema beyond `newest`.
Status CheckPlanSchema(const nlohmann::json& object, int64_t newest);

/// A plan's knobs, under its key "knobs".
nlohmann::json KnobsToJson(const PluginKnobs& knobs);
Status ReadKnobs(const nlohmann::json& plan, PluginKnobs& knobs);

}  // namespace assay::job
