// For tests: a caller who does not give up, before a store whose operations may end with errors.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "storage/decorator/forwarding_store.h"

namespace assay::storage {

/// Tries an operation again until it ends well, or has failed so often that the failure is meant. A conditional write
/// keeps its token, so that a try that was carried out and denied is known again.
class PersistentStore final : public ForwardingStore {
  static constexpr int kTries = 8;

  static const Status& StatusOf(const Status& status) { return status; }
  template <typename T>
  static Status StatusOf(const Result<T>& result) {
    return result.status();
  }

  template <typename Try>
  static auto Persist(const Try& attempt) {
    auto result = attempt();
    for (int i = 1; i < kTries && !StatusOf(result).ok(); ++i) {
      result = attempt();
    }
    return result;
  }

  template <typename Item, typename Try>
  static std::vector<Status> PersistMany(std::span<const Item> items, const Try& attempt) {
    std::vector<Status> statuses = attempt(items);
    for (size_t i = 0; i < items.size(); ++i) {
      for (int tries = 1; tries < kTries && !statuses[i].ok(); ++tries) {
        statuses[i] = attempt(items.subspan(i, 1)).front();
      }
    }
    return statuses;
  }

 public:
  using ForwardingStore::ForwardingStore;

  /// Uploads that failed may be left, and what a second try sends is its own affair.
  Capabilities capabilities() const override {
    Capabilities capabilities = ForwardingStore::capabilities();
    capabilities.unfinished_uploads = false;
    capabilities.resumable_uploads = false;
    return capabilities;
  }
  Result<std::optional<ObjectInfo>> Stat(const std::string& key, CancelFlag cancel = nullptr) override {
    return Persist([&] { return inner().Stat(key, cancel); });
  }
  Result<ObjectInfo> Read(const std::string& key, std::span<const ReadPiece> pieces,
                          const ReadOptions& options) override {
    return Persist([&] { return inner().Read(key, pieces, options); });
  }
  Result<ObjectInfo> ReadWhole(const std::string& key, const std::function<MutableBytes(int64_t size)>& allocate,
                               const ReadOptions& options) override {
    return Persist([&] { return inner().ReadWhole(key, allocate, options); });
  }
  std::vector<Status> ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) override {
    return PersistMany(reads, [&](std::span<const ObjectRead> some) { return inner().ReadMany(some, options); });
  }
  Result<ObjectInfo> Write(const std::string& key, std::span<const Bytes> buffers,
                           const WriteOptions& options) override {
    const WriteOptions known = WithToken(options);
    return Persist([&] { return inner().Write(key, buffers, known); });
  }
  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key, const WriteOptions& options) override {
    return std::unique_ptr<ObjectWriter>(std::make_unique<Writer>(*this, key, WithToken(options)));
  }
  std::vector<Status> WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) override {
    return PersistMany(writes, [&](std::span<const ObjectWrite> some) { return inner().WriteMany(some, options); });
  }
  Result<ListPage> List(const ListOptions& options) override {
    return Persist([&] { return inner().List(options); });
  }
  Status Remove(const std::string& key) override {
    return Persist([&] { return inner().Remove(key); });
  }
  std::vector<Status> RemoveMany(std::span<const std::string> keys, CancelFlag cancel = nullptr) override {
    return PersistMany(keys, [&](std::span<const std::string> some) { return inner().RemoveMany(some, cancel); });
  }
  Result<ObjectInfo> Copy(const std::string& from, const std::string& to, const WriteOptions& options) override {
    const WriteOptions known = WithToken(options);
    return Persist([&] { return inner().Copy(from, to, known); });
  }
  Result<ObjectInfo> Compose(std::span<const std::string> from, const std::string& to,
                             const WriteOptions& options) override {
    const WriteOptions known = WithToken(options);
    return Persist([&] { return inner().Compose(from, to, known); });
  }
  Result<std::string> Presign(const std::string& key, std::string_view method, int64_t seconds,
                              CancelFlag cancel = nullptr) override {
    return Persist([&] { return inner().Presign(key, method, seconds, cancel); });
  }

 private:
  static WriteOptions WithToken(WriteOptions options) {
    if (options.condition.kind != WriteCondition::Kind::kNone && options.write_token.empty()) {
      options.write_token = RandomUid();
    }
    return options;
  }

  /// Sends everything at the end, as often as it takes.
  class Writer final : public ObjectWriter {
   public:
    Writer(PersistentStore& store, std::string key, WriteOptions options)
        : store_(store), key_(std::move(key)), options_(std::move(options)) {}
    Status Write(Bytes bytes) override {
      content_.insert(content_.end(), bytes.begin(), bytes.end());
      return Status::Ok();
    }
    Result<ObjectInfo> Commit() override {
      if (aborted_) {
        return Status::Aborted("the write was given up");
      }
      return Persist([this]() -> Result<ObjectInfo> {
        auto writer = store_.inner().OpenWriter(key_, options_);
        ASSAY_RETURN_IF_ERROR(writer.status());
        ASSAY_RETURN_IF_ERROR((*writer)->Write(content_));
        return (*writer)->Commit();
      });
    }
    void Abort() override { aborted_ = true; }

   private:
    PersistentStore& store_;
    const std::string key_;
    const WriteOptions options_;
    std::vector<std::byte> content_;
    bool aborted_ = false;
  };
};

}  // namespace assay::storage
