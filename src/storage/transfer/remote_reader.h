// ObjectStore over HTTP: what all remote stores have in common of reading, on a ReadDialect and a Signer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/client.h"
#include "storage/async_store.h"
#include "storage/auth/signer.h"
#include "storage/memory_pool.h"
#include "storage/object_store.h"
#include "storage/options.h"
#include "storage/transfer/call_engine.h"
#include "storage/transfer/dialect.h"
#include "storage/transfer/part_plan.h"

namespace assay::storage {

/// A store that only reads derives from it; one that writes, from RemoteStore.
class RemoteReader : public ObjectStore, public AsyncStore {
 public:
  RemoteReader(std::unique_ptr<ReadDialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options);
  ~RemoteReader() override;

  std::string Uri(std::string_view key) const override;
  Capabilities capabilities() const override;
  Result<std::optional<ObjectInfo>> Stat(const std::string& key, CancelFlag cancel = nullptr) override;
  /// Asks for the first byte: the answer to that has a body, in which stores say what is missing.
  Status ExplainAbsence(const std::string& key, CancelFlag cancel = nullptr) override;
  AsyncStore* async() override { return this; }
  Task<Result<ObjectInfo>> ReadAsync(const std::string& key, std::span<const ReadPiece> pieces,
                                     const ReadOptions& options) override;
  Task<Result<ObjectInfo>> ReadWholeAsync(const std::string& key,
                                          const std::function<MutableBytes(int64_t size)>& allocate,
                                          const ReadOptions& options) override;
  Result<ObjectInfo> Read(const std::string& key, std::span<const ReadPiece> pieces, const ReadOptions& options) final {
    return RunHere(ReadAsync(key, pieces, options));
  }
  Result<ObjectInfo> ReadWhole(const std::string& key, const std::function<MutableBytes(int64_t size)>& allocate,
                               const ReadOptions& options) final {
    return RunHere(ReadWholeAsync(key, allocate, options));
  }
  std::vector<Status> ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) override;
  MemoryPool* memory_pool() override { return &memory_; }

 protected:
  /// Stat() of a key that was checked.
  virtual Task<Result<std::optional<ObjectInfo>>> StatAsync(const std::string& key, CancelFlag cancel);
  /// Calls `work` for each, as many at a time as there are connections.
  void ForEach(const std::vector<size_t>& objects, const std::function<void(size_t)>& work) const;

  const StoreOptions& options() const { return options_; }
  CallContext& context() { return context_; }
  const CallContext& context() const { return context_; }
  Signer& signer() { return *signer_; }

 private:
  StoreOptions options_;
  std::unique_ptr<ReadDialect> dialect_;
  std::unique_ptr<Signer> signer_;
  RetryBudget budget_;
  LatencyTracker latencies_;
  MemoryPool memory_;
  http::Client client_;
  CallEngine engine_;
  CallContext context_;
};

}  // namespace assay::storage
