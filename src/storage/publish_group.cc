#include "storage/publish_group.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

constexpr double kCancelPollSeconds = 0.05;

Status CheckGroupKeys(const ObjectStore& store, std::span<const ObjectWrite> objects, const ObjectWrite& marker) {
  std::set<std::string_view> keys = {marker.key};
  for (const ObjectWrite& object : objects) {
    if (!keys.insert(object.key).second) {
      return Status::InvalidArgument(fmt::format("cannot publish {}: two of its group would be {} (give each its key)",
                                                 store.Uri(marker.key), store.Uri(object.key)));
    }
  }
  return Status::Ok();
}

/// With a token to know what it leaves by, whatever its condition.
WriteOptions Signed(WriteOptions write) {
  write.write_token = write.write_token.empty() ? RandomUid() : write.write_token;
  write.metadata[std::string(kWriteTokenName)] = write.write_token;
  return write;
}

/// Whether an object stands whose write ended so: what the network ended may be on its way yet.
bool MayStand(const Status& written) {
  return written.ok() || written.code() == ErrorCode::kIo || written.code() == ErrorCode::kAborted;
}

class Group {
 public:
  Group(Transfers& transfers, ObjectStore& store, std::span<const ObjectWrite> objects, const WriteOptions& options)
      : transfers_(transfers), store_(store), objects_(objects), options_(options) {}

  /// The status of the first that failed.
  Status WriteAll() {
    for (const ObjectWrite& object : objects_) {
      WriteOptions own = object.OptionsOr(options_);
      TransferOptions watched{.priority = own.priority};
      watched.on_done = [this](const Result<ObjectInfo>& result) { Note(result.status()); };
      if (IsNew(object)) {
        own = Signed(std::move(own));
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
      while (!write->WaitFor(kCancelPollSeconds)) {
        if (IsCancelled(options_.cancel)) {
          Note(Status::Aborted("cancelled"));
        }
      }
    }
    return failed_.ok() && IsCancelled(options_.cancel) ? Status::Aborted("cancelled") : failed_;
  }

  /// How many objects of a group that is not published stand all the same.
  struct Left {
    int64_t standing = 0;
    int64_t unknown = 0;  ///< the store could not be asked whether they do
  };

  Left TakeBack() {
    std::vector<std::string> created;
    Left left;
    for (size_t i = 0; i < objects_.size(); ++i) {
      if (!IsNew(objects_[i])) {
        left.standing += writes_[i]->Wait().ok() ? 1 : 0;
        continue;
      }
      // What was given up while the store published it may stand, and what stood may be another's by now.
      const auto standing = store_.Stat(objects_[i].key);
      if (standing.ok() && IsOurs(*standing, i)) {
        created.push_back(objects_[i].key);
      }
      left.unknown += !standing.ok() && MayStand(writes_[i]->Wait().status()) ? 1 : 0;
    }
    for (const Status& removed : store_.RemoveMany(created)) {
      left.standing += removed.ok() ? 0 : 1;
    }
    return left;
  }

 private:
  bool IsNew(const ObjectWrite& object) const {
    return object.OptionsOr(options_).condition.kind == WriteCondition::Kind::kAbsent;
  }

  bool IsOurs(const std::optional<ObjectInfo>& standing, size_t i) const {
    return standing && WonEarlier(*standing, {{std::string(kWriteTokenName), tokens_[i]}});
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
  std::vector<std::string> tokens_;  ///< by object; of those that replace others empty
  std::mutex mutex_;
  std::vector<std::shared_ptr<Transfer>> writes_;  // guarded by mutex_ while they run
  Status failed_;                                  // likewise
};

/// What is known of a marker whose write ended with an error.
enum class MarkerFate { kStands, kAbsent, kUnknown };

MarkerFate FateOf(ObjectStore& store, const ObjectWrite& marker, const WriteOptions& write, const Status& failed,
                  std::optional<ObjectInfo>& standing) {
  Result<std::optional<ObjectInfo>> found = store.Stat(marker.key);
  if (found.ok() && *found && WonEarlier(**found, write.metadata)) {
    standing = **found;
    const auto checksum = standing->checksum;
    const bool whole = standing->size == static_cast<int64_t>(marker.content.size()) &&
                       (!checksum || *checksum == ChecksumOf(checksum->kind, marker.content));
    return whole ? MarkerFate::kStands : MarkerFate::kUnknown;
  }
  return found.ok() && !MayStand(failed) ? MarkerFate::kAbsent : MarkerFate::kUnknown;
}

}  // namespace

Result<ObjectInfo> PublishGroup(Transfers& transfers, ObjectStore& store, std::span<const ObjectWrite> objects,
                                const ObjectWrite& marker, const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckGroupKeys(store, objects, marker));
  const auto refuse = [&](const Status& failed, const std::string& rest) {
    return Status(failed.code(), fmt::format("cannot publish {}: {}{}", store.Uri(marker.key), failed.message(), rest));
  };
  Group group(transfers, store, objects, options);
  Status failed = group.WriteAll();
  if (failed.ok()) {
    const WriteOptions write = Signed(marker.OptionsOr(options));
    Result<ObjectInfo> published = store.Write(marker.key, std::span(&marker.content, 1), write);
    if (published.ok()) {
      return published;
    }
    failed = published.status();
    std::optional<ObjectInfo> standing;
    switch (FateOf(store, marker, write, failed, standing)) {
      case MarkerFate::kStands:
        return *std::move(standing);
      case MarkerFate::kUnknown:
        return refuse(failed, fmt::format("; the marker may stand, so all {} objects are left (look whether it does)",
                                          objects.size()));
      case MarkerFate::kAbsent:
        break;
    }
  }
  const Group::Left left = group.TakeBack();
  std::string rest = left.standing == 0 ? "" : fmt::format("; {} of its objects stand without it", left.standing);
  if (left.unknown > 0) {
    rest += fmt::format("; {} of its objects may stand, which the store did not tell (look at them)", left.unknown);
  }
  return refuse(failed, rest);
}

}  // namespace assay::storage
