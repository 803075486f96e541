#include "cli/data_place.h"

#include "cli/options.h"

namespace assay::cli {

Result<shards::DatasetPlace> OpenDataPlace(const StoreFlags& store, const std::string& uri,
                                           storage::CancelFlag cancel) {
  ASSAY_ASSIGN_OR_RETURN(ObjectPlace place, store.Open(uri));
  return shards::DatasetPlace{std::move(place.store), AsFolder(std::move(place.key)), cancel};
}

void DatasetArgument::AddTo(CLI::App& app) {
  app.add_option("uri", uri, "The data set: a folder, s3://bucket/prefix, gs://, oci://bucket@namespace/")->required();
  app.add_option("--version", version, "An earlier version of it; without: the newest")->check(WholeNumber(1));
}

}  // namespace assay::cli
