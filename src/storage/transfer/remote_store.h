// ObjectStore over HTTP: everything that remote stores have in common, on a Dialect and a Signer.
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

/// A store's own class derives from it and adds what differs in more than requests: copy, compose, presign, uploads.
class RemoteStore : public ObjectStore, public AsyncStore {
 public:
  RemoteStore(std::unique_ptr<Dialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options);
  ~RemoteStore() override;

  std::string Uri(std::string_view key) const override;
  Capabilities capabilities() const override;
  Result<std::optional<ObjectInfo>> Stat(const std::string& key) override;
  /// Asks for the first byte: the answer to that has a body, in which stores say what is missing.
  Status ExplainAbsence(const std::string& key) override;
  AsyncStore* async() override { return this; }
  Task<Result<ObjectInfo>> ReadAsync(const std::string& key, std::span<const ReadPiece> pieces,
                                     const ReadOptions& options) override;
  Task<Result<ObjectInfo>> ReadWholeAsync(const std::string& key,
                                          const std::function<MutableBytes(int64_t size)>& allocate,
                                          const ReadOptions& options) override;
  Task<Result<ObjectInfo>> WriteAsync(const std::string& key, std::span<const Bytes> buffers,
                                      const WriteOptions& options) override;
  Result<ObjectInfo> Read(const std::string& key, std::span<const ReadPiece> pieces, const ReadOptions& options) final {
    return RunHere(ReadAsync(key, pieces, options));
  }
  Result<ObjectInfo> ReadWhole(const std::string& key, const std::function<MutableBytes(int64_t size)>& allocate,
                               const ReadOptions& options) final {
    return RunHere(ReadWholeAsync(key, allocate, options));
  }
  std::vector<Status> ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) override;
  Result<ObjectInfo> Write(const std::string& key, std::span<const Bytes> buffers, const WriteOptions& options) final {
    return RunHere(WriteAsync(key, buffers, options));
  }
  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key, const WriteOptions& options) override;
  std::vector<Status> WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) override;
  Result<ListPage> List(const ListOptions& options) override;
  Status Remove(const std::string& key) override;
  std::vector<Status> RemoveMany(std::span<const std::string> keys) override;
  Status AbortUpload(const std::string& key, const std::string& upload_id) override;
  bool GiveUpUpload(const std::string& key, const std::string& upload_id) override;
  MemoryPool* memory_pool() override { return &memory_; }

 protected:
  /// Sends one request, with its retries, and returns its 2xx answer. `make` is called for each attempt; `operation`
  /// reads on after "cannot": "copy to". The error says NotFound for 404, FailedPrecondition for 412.
  Result<http::Response> Call(std::string_view operation, const std::string& key, const std::function<Outgoing()>& make,
                              CancelFlag cancel = nullptr);

  /// OpenWriter() of a write that was checked; `may_send` is StreamWriter's.
  std::unique_ptr<ObjectWriter> OpenStream(const std::string& key, const WriteOptions& options,
                                           std::function<Status(bool in_parts)> may_send = nullptr);

  /// Presign() for a store whose signer signs URLs.
  Result<std::string> PresignUrl(const std::string& key, std::string url, std::string_view method, int64_t seconds);

  const Dialect& dialect() const { return *dialect_; }
  Signer& signer() { return *signer_; }
  const StoreOptions& options() const { return options_; }
  CallContext& context() { return context_; }

 private:
  /// Calls `work` for each, as many at a time as there are connections.
  void ForEach(const std::vector<size_t>& objects, const std::function<void(size_t)>& work) const;

  StoreOptions options_;
  std::unique_ptr<Dialect> dialect_;
  std::unique_ptr<Signer> signer_;
  RetryBudget budget_;
  LatencyTracker latencies_;
  MemoryPool memory_;
  http::Client client_;
  CallEngine engine_;
  CallContext context_;
};

}  // namespace assay::storage
