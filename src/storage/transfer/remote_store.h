// ObjectStore over HTTP: everything that remote stores that are written to have in common, on a Dialect and a Signer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/transfer/dialect.h"
#include "storage/transfer/remote_part_writer.h"
#include "storage/transfer/remote_reader.h"

namespace assay::storage {

/// A store's own class derives from it and adds what differs in more than requests: copy, compose, presign, uploads.
class RemoteStore : public RemoteReader {
 public:
  RemoteStore(std::unique_ptr<Dialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options);

  Task<Result<ObjectInfo>> WriteAsync(const std::string& key, std::span<const Bytes> buffers,
                                      const WriteOptions& options) override;
  Result<ObjectInfo> Write(const std::string& key, std::span<const Bytes> buffers, const WriteOptions& options) final {
    return RunHere(WriteAsync(key, buffers, options));
  }
  Result<std::unique_ptr<ObjectWriter>> OpenWriter(const std::string& key, const WriteOptions& options) override;
  Result<std::unique_ptr<PartWriter>> OpenParts(const std::string& key, const WriteOptions& options) override;
  std::vector<Status> WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) override;
  Result<ListPage> List(const ListOptions& options) override;
  Status Remove(const std::string& key) override;
  std::vector<Status> RemoveMany(std::span<const std::string> keys, CancelFlag cancel = nullptr) override;
  Status MakeBucket(CancelFlag cancel = nullptr) override;
  Status RemoveBucket(CancelFlag cancel = nullptr) override;
  Status AbortUpload(const std::string& key, const std::string& upload_id, CancelFlag cancel = nullptr) override;
  bool GiveUpUpload(const std::string& key, const std::string& upload_id) override;

 protected:
  /// Sends one request, with its retries, and returns its 2xx answer. `make` is called for each attempt; `operation`
  /// reads on after "cannot": "copy to". The error says NotFound for 404, FailedPrecondition for 412.
  Result<http::Response> Call(std::string_view operation, const std::string& key, const std::function<Outgoing()>& make,
                              CancelFlag cancel = nullptr);

  /// Of writes whose parts are not known before.
  virtual RemotePartWriter::MaySend MaySend(const std::string& key, const WriteOptions& options) { return nullptr; }
  /// Whether such a write may go in parts at all. May ask the store.
  virtual bool TakesPartsOf(const std::string& key, const WriteOptions& options) { return true; }

  /// Presign() for a store whose signer signs URLs.
  Result<std::string> PresignUrl(const std::string& key, std::string url, std::string_view method, int64_t seconds);

  const Dialect& dialect() const { return *context().writing; }
};

}  // namespace assay::storage
