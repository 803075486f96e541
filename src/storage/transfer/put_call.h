// An upload of bytes as a call: a whole object, or one part of it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/transfer/store_call.h"

namespace assay::storage {

class PutCall : public StoreCall {
 public:
  using Make = std::function<Outgoing(ChecksumSource& body)>;
  /// A 2xx came; `sent` is the checksum of what was sent.
  using Take = std::function<std::optional<Failure>(http::Response&, const Checksum& sent)>;
  using OnDone = std::function<void(const CallResult&)>;
  /// Whether two copies of it may arrive without harm. Called on the store's thread.
  using MayReissue = std::function<bool()>;

  /// Without `may_reissue`: never.
  PutCall(std::string operation, std::string key, std::vector<Bytes> pieces, ChecksumKind kind, MayReissue may_reissue,
          Make make, Take take, OnDone on_done);

  /// Asked before the last bytes are sent; an error ends the call. Called on an I/O thread of the client.
  void set_guard(std::function<Status()> guard) { guard_ = std::move(guard); }

  std::string operation() const override { return operation_; }
  const std::string& key() const override { return key_; }
  void Prepare(Attempt& attempt) override;
  std::optional<Failure> Accept(Attempt& attempt, http::Response& response) override;
  void Done(const CallResult& result) override;
  std::optional<std::pair<Direction, int64_t>> volume() const override;
  bool PrepareReissue() override { return may_reissue_(); }

 private:
  std::string operation_;
  std::string key_;
  std::vector<Bytes> pieces_;
  ChecksumKind kind_;
  MayReissue may_reissue_;
  int64_t bytes_ = 0;
  Make make_;
  Take take_;
  OnDone on_done_;
  std::function<Status()> guard_;
};

}  // namespace assay::storage
