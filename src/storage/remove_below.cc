#include "storage/remove_below.h"

#include <vector>

#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

Status RemoveListed(ObjectStore& store, const ListPage& page, CancelFlag cancel) {
  std::vector<std::string> keys;
  for (const ObjectInfo& info : page.objects) {
    keys.push_back(info.key);
  }
  for (const Status& removed : store.RemoveMany(keys, cancel)) {
    ASSAY_RETURN_IF_ERROR(removed);
  }
  return Status::Ok();
}

}  // namespace

Status RemoveBelow(ObjectStore& store, const std::string& prefix, CancelFlag cancel) {
  ListOptions list;
  list.prefix = prefix;
  list.keys_only = true;
  list.cancel = cancel;
  ASSAY_RETURN_IF_ERROR(ListInParallel(store, list, {.ordered = false}, [&](const ListPage& page) {
    return IsCancelled(cancel) ? CancelledStatus("remove", store.Uri(prefix)) : RemoveListed(store, page, cancel);
  }));
  if (!store.capabilities().unfinished_uploads) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(const auto uploads, store.ListUploads(prefix, cancel));
  for (const UnfinishedUpload& upload : uploads) {
    const Status aborted = store.AbortUpload(upload.key, upload.upload_id, cancel);
    if (aborted.code() != ErrorCode::kNotFound) {
      ASSAY_RETURN_IF_ERROR(aborted);
    }
  }
  return Status::Ok();
}

}  // namespace assay::storage
