#include "storage/publish_group.h"

#include <fmt/format.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/text.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

class Group {
 public:
  Group(Transfers& transfers, ObjectStore& store, std::span<const ObjectWrite> objects, const WriteOptions& options)
      : transfers_(transfers), store_(store), objects_(objects), options_(options) {}

  /// The status of the first that failed.
  Status WriteAll() {
    for (const ObjectWrite& object : objects_) {
      TransferOptions watched{.priority = options_.priority};
      watched.on_done = [this](const Result<ObjectInfo>& result) { Note(result.status()); };
      WriteOptions own = object.OptionsOr(options_);
      if (own.condition.kind == WriteCondition::Kind::kAbsent && own.write_token.empty()) {
        own.write_token = RandomUid();
      }
      tokens_.push_back(own.write_token);
      const auto write = transfers_.Write(store_, object.key, {object.content}, std::move(own), std::move(watched));
      const std::lock_guard lock(mutex_);
      writes_.push_back(write);
      if (!failed_.ok()) {
        write->Cancel();
      }
    }
    for (const auto& write : writes_) {
      write->Wait();
    }
    return failed_;
  }

  /// Of a group that is not published: how many of its objects stand all the same.
  int64_t TakeBack() {
    std::vector<std::string> created;
    int64_t standing = 0;
    for (size_t i = 0; i < objects_.size(); ++i) {
      const bool wrote = writes_[i]->Wait().ok();
      const bool was_absent = objects_[i].OptionsOr(options_).condition.kind == WriteCondition::Kind::kAbsent;
      if (was_absent && (wrote || IsOurs(i))) {
        created.push_back(objects_[i].key);
      }
      standing += wrote && !was_absent ? 1 : 0;
    }
    for (const Status& removed : store_.RemoveMany(created)) {
      standing += removed.ok() ? 0 : 1;
    }
    return standing;
  }

 private:
  /// What was given up while the store published it may stand.
  bool IsOurs(size_t i) {
    const auto standing = store_.Stat(objects_[i].key);
    return standing.ok() && *standing && WonEarlier(**standing, {{std::string(kWriteTokenName), tokens_[i]}});
  }

  void Note(const Status& status) {
    const std::lock_guard lock(mutex_);
    if (status.ok() || !failed_.ok()) {
      return;
    }
    failed_ = status;
    for (const auto& write : writes_) {
      write->Cancel();
    }
  }

  Transfers& transfers_;
  ObjectStore& store_;
  const std::span<const ObjectWrite> objects_;
  const WriteOptions& options_;
  std::vector<std::string> tokens_;  ///< by object; of those without a condition empty
  std::mutex mutex_;
  std::vector<std::shared_ptr<Transfer>> writes_;  // guarded by mutex_ while they run
  Status failed_;                                  // likewise
};

}  // namespace

Result<ObjectInfo> PublishGroup(Transfers& transfers, ObjectStore& store, std::span<const ObjectWrite> objects,
                                const ObjectWrite& marker, const WriteOptions& options) {
  Group group(transfers, store, objects, options);
  Status failed = group.WriteAll();
  if (failed.ok()) {
    Result<ObjectInfo> published = store.Write(marker.key, std::span(&marker.content, 1), marker.OptionsOr(options));
    if (published.ok()) {
      return published;
    }
    failed = published.status();
  }
  const int64_t standing = group.TakeBack();
  const std::string rest = standing == 0 ? "" : fmt::format("; {} of its objects stand without it", standing);
  return Status(failed.code(), fmt::format("cannot publish {}: {}{}", store.Uri(marker.key), failed.message(), rest));
}

}  // namespace assay::storage
