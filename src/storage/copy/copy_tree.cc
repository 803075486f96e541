#include "storage/copy/copy_tree.h"

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "base/bounded_queue.h"
#include "storage/copy/key_spool.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

using Outcome = TreeCopyEvent::Outcome;

/// Of objects that pass through memory beside each other.
constexpr int64_t kWindowBytes = int64_t{8} << 20;
/// Objects that wait for their turn, with less than 1 KiB each.
constexpr size_t kWaitingObjects = 8192;
/// As many as the stores remove in one request.
constexpr size_t kRemovedTogether = 1000;

/// Two places are compared by how this is spelled.
std::string Spelled(const TreePlace& place) {
  constexpr std::string_view kFile = "file://";
  const std::string uri = place.store->Uri(place.prefix);
  if (!uri.starts_with(kFile)) {
    return uri;
  }
  std::error_code error;
  const std::filesystem::path path(uri.substr(kFile.size()));
  std::string real = std::filesystem::weakly_canonical(path, error).string();
  if (error) {
    real = path.lexically_normal().string();
  }
  return real.ends_with('/') ? real : real + "/";
}

Status CheckApart(const TreePlace& source, const TreePlace& target, bool remove_others) {
  const std::string from = Spelled(source);
  const std::string to = Spelled(target);
  if (to.starts_with(from)) {
    return Status::InvalidArgument(
        fmt::format("cannot copy {} to {}: the target lies within the source (choose another)",
                    source.store->Uri(source.prefix), target.store->Uri(target.prefix)));
  }
  if (remove_others && from.starts_with(to)) {
    return Status::InvalidArgument(
        fmt::format("cannot make {} hold what {} does and nothing else: the source lies within it (choose another)",
                    target.store->Uri(target.prefix), source.store->Uri(source.prefix)));
  }
  return Status::Ok();
}

/// One run over a tree.
class TreeCopy {
 public:
  TreeCopy(const TreePlace& source, const TreePlace& target, const TreeCopyOptions& options, TreeCopyListener& listener)
      : source_(source), target_(target), options_(options), listener_(listener), pairs_(kWaitingObjects) {}

  Status Run() {
    ASSAY_RETURN_IF_ERROR(CheckApart(source_, target_, options_.remove_others));
    Status planned;
    {
      std::vector<std::jthread> workers;
      planned = Plan(workers);
      pairs_.Close();
    }
    if (IsCancelled(cancel())) {
      return CancelledStatus("copy", source_.store->Uri(source_.prefix));
    }
    ASSAY_RETURN_IF_ERROR(planned);
    ASSAY_RETURN_IF_ERROR(first_failure_);
    return options_.remove_others ? RemoveOthers() : Status::Ok();
  }

 private:
  CancelFlag cancel() const { return options_.object.write.cancel; }

  TreeMergeOptions MergeOptions() const {
    return {.filter = options_.filter,
            .with_target = options_.remove_others || options_.comparison != Comparison::kNone,
            .only_target = options_.remove_others,
            .cancel = cancel()};
  }

  /// Gives the workers what there is to do, and keeps what is to be removed.
  Status Plan(std::vector<std::jthread>& workers) {
    constexpr int64_t kTellEvery = 256;
    TreeMerge merge(source_, target_, MergeOptions());
    int64_t bytes = 0;
    while (true) {
      ASSAY_ASSIGN_OR_RETURN(std::optional<TreePair> pair, merge.Next());
      if (!pair || IsCancelled(cancel())) {
        break;
      }
      if (!pair->source) {
        ASSAY_RETURN_IF_ERROR(others_.Add(pair->target->key));
        continue;
      }
      bytes += pair->source->size;
      if (++objects_ % kTellEvery == 0) {
        Tell(bytes, false);
      }
      if (std::ssize(workers) < options_.jobs) {
        workers.emplace_back([this] { Work(); });
      }
      pairs_.Put(*std::move(pair));
    }
    Tell(bytes, true);
    return Status::Ok();
  }

  void Tell(int64_t bytes, bool all) {
    const std::lock_guard lock(mutex_);
    listener_.OnPlan(objects_, bytes, all);
  }

  void Work() {
    while (const std::optional<TreePair> pair = pairs_.Take()) {
      if (!IsCancelled(cancel())) {
        CopyOne(*pair);
      }
    }
  }

  void CopyOne(const TreePair& pair) {
    const ObjectInfo& info = *pair.source;
    const std::string to = target_.prefix + info.key.substr(source_.prefix.size());
    TreeCopyEvent event{source_.store->Uri(info.key), target_.store->Uri(to), info.size, 0, {}, {}};
    const Result<Outcome> outcome = Perform(pair, to, event);
    event.status = outcome.status();
    event.outcome = outcome.ok() ? *outcome : Outcome::kFailed;
    Report(event);
  }

  Result<Outcome> Perform(const TreePair& pair, const std::string& to, TreeCopyEvent& event) {
    if (pair.target) {
      ASSAY_ASSIGN_OR_RETURN(const bool equal, AreEqual(options_.comparison, *source_.store, *pair.source,
                                                        *target_.store, *pair.target, cancel()));
      if (equal) {
        return Outcome::kSkipped;
      }
    }
    if (options_.dry_run) {
      return Outcome::kPlanned;
    }
    ObjectCopyOptions copy = options_.object;
    copy.listed_bytes = pair.source->size;
    copy.window_bytes = objects_ > 1 ? kWindowBytes : copy.window_bytes;
    copy.write.progress = [this](int64_t bytes) {
      const std::lock_guard lock(mutex_);
      listener_.OnBytes(bytes);
    };
    ASSAY_ASSIGN_OR_RETURN(const CopiedObject copied,
                           CopyObject(*source_.store, pair.source->key, *target_.store, to, copy));
    event.resumed_bytes = copied.resumed_bytes;
    return Outcome::kCopied;
  }

  void Report(const TreeCopyEvent& event) {
    const std::lock_guard lock(mutex_);
    if (!event.status.ok() && first_failure_.ok()) {
      first_failure_ = event.status;
    }
    listener_.OnObject(event);
  }

  Status RemoveOthers() {
    const std::string from = source_.store->Uri(source_.prefix);
    if (objects_ == 0 && others_.size() > 0) {
      return Status::InvalidArgument(
          fmt::format("nothing is under {}: all {} objects of {} would be removed (check the source; `assay object rm "
                      "--recursive` removes a folder)",
                      from, others_.size(), target_.store->Uri(target_.prefix)));
    }
    ASSAY_RETURN_IF_ERROR(others_.ForEachBatch(kRemovedTogether, [&](const std::vector<std::string>& keys) {
      return IsCancelled(cancel()) ? CancelledStatus("copy", from) : Remove(keys);
    }));
    return first_failure_;
  }

  Status Remove(const std::vector<std::string>& keys) {
    const std::vector<Status> statuses =
        options_.dry_run ? std::vector<Status>(keys.size()) : target_.store->RemoveMany(keys, cancel());
    for (size_t i = 0; i < keys.size(); ++i) {
      if (statuses[i].code() == ErrorCode::kAborted) {  // nobody knows whether it is still there
        return CancelledStatus("remove", target_.store->Uri(keys[i]));
      }
      const Outcome done = options_.dry_run ? Outcome::kRemovalPlanned : Outcome::kRemoved;
      Report({{}, target_.store->Uri(keys[i]), 0, 0, statuses[i].ok() ? done : Outcome::kFailed, statuses[i]});
    }
    return Status::Ok();
  }

  const TreePlace& source_;
  const TreePlace& target_;
  const TreeCopyOptions& options_;
  std::mutex mutex_;  ///< guards listener_ and first_failure_
  TreeCopyListener& listener_;
  Status first_failure_;
  BoundedQueue<TreePair> pairs_;
  std::atomic<int64_t> objects_ = 0;  ///< found in the source
  KeySpool others_;                   ///< found in the target alone
};

}  // namespace

Status CopyTree(const TreePlace& source, const TreePlace& target, const TreeCopyOptions& options,
                TreeCopyListener& listener) {
  return TreeCopy(source, target, options, listener).Run();
}

}  // namespace assay::storage
