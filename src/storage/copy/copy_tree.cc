#include "storage/copy/copy_tree.h"

#include <fmt/format.h>

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "storage/copy/same_content.h"
#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

/// Of objects that pass through memory beside each other.
constexpr int64_t kWindowBytes = int64_t{8} << 20;

Status ListAll(const TreePlace& place, CancelFlag cancel, const std::function<void(ObjectInfo)>& take) {
  ListOptions list;
  list.prefix = place.prefix;
  return ListInParallel(*place.store, list, kListWorkers, [&](ListPage page) {
    if (IsCancelled(cancel)) {
      return CancelledStatus("list", place.store->Uri(place.prefix));
    }
    for (ObjectInfo& info : page.objects) {
      take(std::move(info));
    }
    return Status::Ok();
  });
}

/// One run over a tree.
class TreeCopy {
 public:
  TreeCopy(const TreePlace& source, const TreePlace& target, const TreeCopyOptions& options, TreeCopyListener& listener)
      : source_(source), target_(target), options_(options), listener_(listener) {}

  Status Run() {
    ASSAY_RETURN_IF_ERROR(Plan());
    ParallelFor(static_cast<int64_t>(objects_.size()), options_.jobs,
                [this](int64_t i) { CopyOne(objects_[static_cast<size_t>(i)]); });
    return IsCancelled(cancel()) ? CancelledStatus("copy", source_.store->Uri(source_.prefix)) : first_failure_;
  }

 private:
  CancelFlag cancel() const { return options_.object.write.cancel; }

  Status Plan() {
    int64_t bytes = 0;
    ASSAY_RETURN_IF_ERROR(ListAll(source_, cancel(), [&](ObjectInfo info) {
      if (info.key != source_.prefix) {
        bytes += info.size;
        objects_.push_back(std::move(info));
      }
    }));
    if (options_.skip_equal && !objects_.empty()) {
      ASSAY_RETURN_IF_ERROR(ListAll(target_, cancel(), [this](ObjectInfo info) {
        std::string key = info.key;
        standing_.emplace(std::move(key), std::move(info));
      }));
    }
    listener_.OnPlan(static_cast<int64_t>(objects_.size()), bytes);
    return Status::Ok();
  }

  Result<bool> IsThere(const ObjectInfo& info, const std::string& to) const {
    const auto standing = standing_.find(to);
    if (standing == standing_.end()) {
      return false;
    }
    return SameContent(*source_.store, info, *target_.store, standing->second, cancel());
  }

  Result<TreeCopyEvent::Outcome> Perform(const ObjectInfo& info, const std::string& to, TreeCopyEvent& event) {
    using Outcome = TreeCopyEvent::Outcome;
    ASSAY_ASSIGN_OR_RETURN(const bool there, IsThere(info, to));
    if (there) {
      return Outcome::kSkipped;
    }
    if (options_.dry_run) {
      return Outcome::kPlanned;
    }
    ObjectCopyOptions copy = options_.object;
    copy.window_bytes = objects_.size() > 1 ? kWindowBytes : copy.window_bytes;
    copy.write.progress = [this](int64_t bytes) {
      const std::lock_guard lock(mutex_);
      listener_.OnBytes(bytes);
    };
    ASSAY_ASSIGN_OR_RETURN(const CopiedObject copied, CopyObject(*source_.store, info.key, *target_.store, to, copy));
    event.resumed_bytes = copied.resumed_bytes;
    return Outcome::kCopied;
  }

  void CopyOne(const ObjectInfo& info) {
    if (IsCancelled(cancel())) {
      return;
    }
    const std::string to = target_.prefix + info.key.substr(source_.prefix.size());
    TreeCopyEvent event{source_.store->Uri(info.key), target_.store->Uri(to), info.size, 0, {}, {}};
    const Result<TreeCopyEvent::Outcome> outcome = Perform(info, to, event);
    event.status = outcome.status();
    event.outcome = outcome.ok() ? *outcome : TreeCopyEvent::Outcome::kFailed;
    const std::lock_guard lock(mutex_);
    if (!event.status.ok() && first_failure_.ok()) {
      first_failure_ = event.status;
    }
    listener_.OnObject(event);
  }

  const TreePlace& source_;
  const TreePlace& target_;
  const TreeCopyOptions& options_;
  std::vector<ObjectInfo> objects_;
  std::map<std::string, ObjectInfo> standing_;  ///< at the target
  std::mutex mutex_;                            ///< guards listener_ and first_failure_
  TreeCopyListener& listener_;
  Status first_failure_;
};

}  // namespace

Status CopyTree(const TreePlace& source, const TreePlace& target, const TreeCopyOptions& options,
                TreeCopyListener& listener) {
  return TreeCopy(source, target, options, listener).Run();
}

}  // namespace assay::storage
