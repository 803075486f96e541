#include <algorithm>

#include "base/text.h"
#include "data/datasets.h"
#include "data/model_catalogue.h"
#include "experiment/connector/connector.h"
#include "experiment/property_spec.h"

namespace assay::experiment {
namespace {

using job::ConnectorPlan;
using space::Domain;
using space::Value;

template <auto kField>
Status ConnectorField(const Value& value, ConnectorPlan& plan) {
  return Field<ConnectorPlan, kField>(value, plan);
}

template <auto kField>
Status ConnectorLoraField(const Value& value, ConnectorPlan& plan) {
  Assign(value, plan.lora.*kField);
  return Status::Ok();
}

Status TakeModules(const Value& value, ConnectorPlan& plan) {
  if (value != kNone) {
    plan.lora.target_modules = Split(std::get<std::string>(value), ',');
  }
  return Status::Ok();
}

bool IsBucketUri(std::string_view text) {
  return text.find("://") != std::string_view::npos && !text.starts_with("file://");
}

bool IsCatalogueModel(std::string_view text) {
  return std::ranges::any_of(data::ModelCatalogue(), [&](const data::CatalogueModel& m) { return m.name == text; });
}

std::vector<ConnectorProperty> PlaceProperties() {
  std::vector<Value> names;
  for (const ConnectorInfo& connector : Connectors()) {
    names.emplace_back(std::string(connector.name));
  }
  return {
      {As({.label = "connector", .stands_alone = true, .role = Role::kSeries, .baseline = names.back()},
          Required("connector", Choice(names),
                   "who makes the shards, streams them and trains: assay and assay-copy, which fetches all first, are "
                   "this program, the others libraries that script/peers installs")),
       &ConnectorField<&ConnectorPlan::connector>},
      {NameOrPath(
           Required("uri", Domain::AnyText(),
                    "a folder, or the prefix of a bucket (s3://...), reached as the environment says; what is "
                    "written goes below it, into connector-benchmark/, and is removed whatever ends the test, but "
                    "where its processes are killed"),
           &IsBucketUri),
       &ConnectorField<&ConnectorPlan::uri>},
      {As({.label = "data set", .stands_alone = true, .role = Role::kDataset},
          NameOrPath(Required("dataset_id", Domain::AnyText(),
                              "rows of text: a data set by id (see docs/data.md), or a JSONL file"),
                     &data::IsKnownDataset))},
      {As({.stands_alone = true}, Optional("compression", Texts({"zstd", "gz", "bz2", "br", "snappy"}),
                                           std::string("zstd"), "of whole shards, in the second step")),
       &ConnectorField<&ConnectorPlan::compression>},
      {As({.label = "shards of"}, Optional("shard_size", Domain::AnyText(), std::string("64MiB"), "uncompressed")),
       &BytesField<ConnectorPlan, &ConnectorPlan::shard_bytes>},
      {Optional(
           "cache_limit", Domain::AnyTextOrNone(), kNone,
           "of shards on disk while they are streamed; None: ours has no cache, others what they do by themselves"),
       &BytesField<ConnectorPlan, &ConnectorPlan::cache_bytes>},
      {As({.label = "workers"}, Optional("number_of_workers", Integers(1, 129), int64_t{2},
                                         "threads of ours, processes of others, that load")),
       &ConnectorField<&ConnectorPlan::workers>},
      {As({.label = "converting"}, Optional("convert_workers", Integers(1, 129), int64_t{1},
                                            "threads that convert; others have one process and take 1 alone")),
       &ConnectorField<&ConnectorPlan::convert_workers>},
      {Own(Optional("priced_as", Texts({kByScheme, "s3", "gs", "oci"}), std::string(kByScheme),
                    "whose prices in prices/object-storage.yaml the store has; scheme: those of the uri's, unless "
                    "variables or a profile name an endpoint"))},
  };
}

std::vector<ConnectorProperty> TrainingProperties() {
  return {
      {As({.label = "model", .stands_alone = true, .role = Role::kModel},
          NameOrPath(Required("model_name", Domain::AnyText(),
                              "a name of the catalogue (assay model list lists them), or a Hugging Face model folder"),
                     &IsCatalogueModel))},
      {As({.label = "max length", .role = Role::kLength},
          Required("model_max_length", Integers(1, 131073), "rows are cut to this many tokens", "tokens")),
       &ConnectorField<&ConnectorPlan::model_max_length>},
      {As({.label = "batch size", .role = Role::kBatchSize},
          Required("batch_size", Integers(1, 4097), "rows of a step", "rows")),
       &ConnectorField<&ConnectorPlan::batch_size>},
      {As({.label = "GPUs", .role = Role::kGpus},
          Optional("number_gpus", Integers(0, 2), int64_t{0}, "0 trains on the CPU")),
       &DeviceOfGpus<ConnectorPlan>},
      {Optional("method", Texts({"lora"}), std::string("lora"), "how it is fine-tuned"),
       &ConnectorField<&ConnectorPlan::method>},
      {As({.label = "LoRA rank"}, Optional("r", Integers(1, 65), int64_t{8}, "rank of the adapter")),
       &ConnectorLoraField<&job::LoraOptions::rank>},
      {Optional("lora_alpha", Integers(1, 129), int64_t{16}, "the adapter's output is scaled by lora_alpha / r"),
       &ConnectorLoraField<&job::LoraOptions::alpha>},
      {Optional("lora_dropout", *Domain::Range(0, 1, std::nullopt), job::LoraOptions{}.dropout,
                "of the adapter's input; experts have none, so adapters on them take 0"),
       &ConnectorLoraField<&job::LoraOptions::dropout>},
      {Optional("target_modules", Domain::AnyTextOrNone(), kNone,
                "modules that get an adapter, with commas between them; None: q_proj,v_proj for most models"),
       &TakeModules},
      {As({.label = "dtype", .stands_alone = true}, Optional("torch_dtype", Texts({"bfloat16", "float32"}),
                                                             std::string("float32"), "of parameters and activations")),
       &ConnectorField<&ConnectorPlan::dtype>},
      {Optional("learning_rate", *Domain::Range(0, 1, std::nullopt), 2e-4, "constant"),
       &ConnectorField<&ConnectorPlan::learning_rate>},
      {Optional("max_steps", Integers(2, 100001), int64_t{24}, "of the fine-tune", "steps"),
       &ConnectorField<&ConnectorPlan::max_steps>},
      {As({.label = "checkpoint every"},
          Optional("checkpoint_every", Integers(1, 100001), int64_t{6}, "a checkpoint in the bucket", "steps")),
       &ConnectorField<&ConnectorPlan::save_every>},
      {Optional("seed", Integers(0, int64_t{1} << 31), int64_t{42}, "of order, dropout and new weights"),
       &ConnectorField<&ConnectorPlan::seed>},
      {Own(Optional("threads", Integers(0, 1025), int64_t{0}, "CPU threads that train; 0: all")),
       &ConnectorField<&ConnectorPlan::threads>},
  };
}

}  // namespace

const std::vector<ConnectorProperty>& ConnectorProperties() {
  static const std::vector<ConnectorProperty> properties = WithOwn(PlaceProperties(), TrainingProperties());
  return properties;
}

}  // namespace assay::experiment
