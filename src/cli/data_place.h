// Where data sets are: URIs as places.
#pragma once

#include <string>

#include "base/status.h"
#include "cli/object_options.h"
#include "shards/dataset/place.h"

namespace assay::cli {

/// The folder or prefix that `uri` names, with or without its '/'.
Result<shards::DatasetPlace> OpenDataPlace(const StoreFlags& store, const std::string& uri, storage::CancelFlag cancel);

/// A data set as the argument of a verb, and --version of it.
struct DatasetArgument {
  std::string uri;
  int64_t version = 0;

  void AddTo(CLI::App& app);
};

}  // namespace assay::cli
