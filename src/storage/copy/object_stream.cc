#include "storage/copy/object_stream.h"

#include <utility>

#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::storage {

namespace {
constexpr size_t kReadyPages = 4;
}  // namespace

ObjectStream::ObjectStream(ObjectStore& store, const std::string& prefix, CancelFlag cancel)
    : pages_(kReadyPages), lister_([this, &store, prefix, cancel] { List(store, prefix, cancel); }) {}

ObjectStream::~ObjectStream() {
  pages_.Stop();
}

void ObjectStream::List(ObjectStore& store, const std::string& prefix, CancelFlag cancel) {
  ListOptions list;
  list.prefix = prefix;
  list.cancel = cancel;
  listed_ = ListInParallel(store, list, kListWorkers, [&](ListPage page) {
    // Whoever stopped the queue has no use for the status.
    const bool goes_on = !IsCancelled(cancel) && pages_.Put(std::move(page));
    return goes_on ? Status::Ok() : CancelledStatus("list", store.Uri(prefix));
  });
  pages_.Close();
}

Result<ObjectInfo*> ObjectStream::Peek() {
  while (at_ == page_.objects.size()) {
    std::optional<ListPage> next = pages_.Take();
    if (!next) {
      ASSAY_RETURN_IF_ERROR(listed_);
      return nullptr;
    }
    page_ = *std::move(next);
    at_ = 0;
  }
  return &page_.objects[at_];
}

}  // namespace assay::storage
