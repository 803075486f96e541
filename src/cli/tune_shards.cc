#include "cli/tune_shards.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <string_view>

#include "base/files.h"
#include "cli/data_place.h"
#include "data/prepare.h"
#include "shards/dataset/dataset.h"
#include "shards/dataset/image_columns.h"

namespace assay::cli {
namespace {

bool HasColumns(const shards::Dataset& dataset, std::initializer_list<std::string_view> names) {
  const std::vector<shards::Column>& columns = dataset.index.shards.front().schema->columns;
  return std::ranges::all_of(names, [&](std::string_view name) {
    return std::ranges::find(columns, name, &shards::Column::name) != columns.end();
  });
}

/// Tokens that a conversion made of text, as the manifest says.
bool HasMadeTokens(const shards::Dataset& dataset) {
  return dataset.manifest && !dataset.manifest->tokenizer_hash.empty();
}

/// They must be those that the model's own tokeniser makes.
Status CheckTokens(const shards::Dataset& dataset, const data::ModelRef& model, const std::string& response_template) {
  if (model.tokenizer_dir.empty()) {
    return Status::InvalidArgument(model.no_tokenizer).WithContext(dataset.place.Uri());
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string own, data::HashRowEncoding(model.tokenizer_dir, response_template));
  return own == dataset.manifest->tokenizer_hash
             ? Status::Ok()
             : Status::InvalidArgument(fmt::format(
                   "the tokens in {} are of another tokenizer or response template than those of {}: convert its rows "
                   "with --tokenizer {} and the same --response-template",
                   dataset.place.Uri(), model.name, model.name));
}

/// Where the worker finds it, from whatever folder it runs in.
std::string WholeUri(const std::string& data, const ObjectPlace& place) {
  std::string uri = place.is_file() && data.find("://") == std::string::npos
                        ? std::filesystem::absolute(data).lexically_normal().string()
                        : data;
  return uri.ends_with('/') ? uri : uri + "/";
}

/// Where the worker finds it, and that it is the same then.
Result<shards::Dataset> OpenShards(const std::string& data, job::TrainingPlan& plan) {
  const StoreFlags store;
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, store.Open(data));
  ASSAY_ASSIGN_OR_RETURN(const shards::DatasetPlace at, OpenDataPlace(store, data, nullptr));
  ASSAY_ASSIGN_OR_RETURN(shards::Dataset dataset, shards::OpenDataset(at));
  if (dataset.index.samples() == 0) {
    return Status::InvalidArgument(fmt::format("the data set at {} has no rows", at.Uri()));
  }
  plan.data_uri = WholeUri(data, place);
  plan.data_fingerprint = dataset.fingerprint();
  return dataset;
}

}  // namespace

bool NamesShards(const std::string& data) {
  return data.find("://") != std::string::npos || FileExists(data + "/" + shards::kIndexName) ||
         FileExists(data + "/" + shards::kManifestName);
}

Status CheckNoShards(const job::TrainingPlan& plan) {
  return plan.data_cache.empty()
             ? Status::Ok()
             : Status::InvalidArgument("--data-cache keeps shards of a data set: leave it out with other data");
}

Status StreamShards(const std::string& data, job::VitPlan& plan) {
  ASSAY_ASSIGN_OR_RETURN(const shards::Dataset dataset, OpenShards(data, plan));
  return shards::FindImageColumns(*dataset.index.shards.front().schema)
      .status()
      .WithContext(fmt::format("the data set at {} cannot be trained on", dataset.place.Uri()));
}

Status StreamShards(const std::string& data, const data::ModelRef& model, job::TunePlan& plan) {
  ASSAY_ASSIGN_OR_RETURN(const shards::Dataset dataset, OpenShards(data, plan));
  const bool has_ids = HasColumns(dataset, {"input_ids"});
  const bool made_tokens = HasMadeTokens(dataset);
  if (!has_ids && !HasColumns(dataset, {"messages"}) && !HasColumns(dataset, {"prompt", "completion"}) &&
      !HasColumns(dataset, {"output"})) {
    return Status::InvalidArgument(
        fmt::format("the data set at {} has no columns to train on: input_ids (with labels), messages, prompt and "
                    "completion, or output",
                    dataset.place.Uri()));
  }
  if (made_tokens) {
    ASSAY_RETURN_IF_ERROR(CheckTokens(dataset, model, plan.response_template));
  } else if (!has_ids && model.tokenizer_dir.empty()) {
    return Status::InvalidArgument(model.no_tokenizer).WithContext(dataset.place.Uri());
  }
  plan.tokenizer = has_ids && !made_tokens ? std::string() : model.tokenizer_dir;
  return Status::Ok();
}

}  // namespace assay::cli
