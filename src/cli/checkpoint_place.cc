#include "cli/checkpoint_place.h"

namespace assay::cli {
namespace {

checkpoint::Place AsFolderPlace(const ObjectPlace& place, storage::CancelFlag cancel) {
  return {place.store, AsFolder(place.key), true, cancel};
}

bool NamesFolder(const ObjectPlace& place) {
  return place.key.empty() || place.key.ends_with('/');
}

}  // namespace

Result<checkpoint::Place> OpenCheckpointPlace(const StoreFlags& store, const std::string& uri,
                                              storage::CancelFlag cancel) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, store.Open(uri));
  if (NamesFolder(place)) {
    return AsFolderPlace(place, cancel);
  }
  ASSAY_ASSIGN_OR_RETURN(const auto object, place.store->Stat(place.key));
  return object ? checkpoint::Place{place.store, place.key, false, cancel} : AsFolderPlace(place, cancel);
}

Result<checkpoint::Place> OpenCheckpointTarget(const StoreFlags& store, const std::string& uri,
                                               checkpoint::Format format, storage::CancelFlag cancel) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, store.Open(uri));
  const bool is_folder = format == checkpoint::Format::kDcp || NamesFolder(place) ||
                         (format == checkpoint::Format::kSafetensors && !place.key.ends_with(".safetensors"));
  if (is_folder && format == checkpoint::Format::kLightning) {
    return Status::InvalidArgument("'" + uri + "' is a folder: name the file, such as " + uri + "last.ckpt");
  }
  return is_folder ? AsFolderPlace(place, cancel) : checkpoint::Place{place.store, place.key, false, cancel};
}

}  // namespace assay::cli
