// For tests: a store on an embedded object server of this process.
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "objectserver/server.h"
#include "storage/conformance.h"
#include "storage/open.h"
#include "storage/served_credentials.h"

namespace assay::storage {

/// What reached `server`, from its metrics.
inline int64_t NetworkBytesReceived(const objectserver::ObjectServer& server) {
  constexpr std::string_view kName = "\nassay_object_network_received_bytes_total ";
  const std::string text = server.Metrics();
  const size_t at = text.find(kName);
  EXPECT_NE(at, std::string::npos);
  return std::stoll(text.substr(at + kName.size()));
}

/// A dialect, and who is let in.
struct ServedCase {
  const char* name;
  const char* uri;
  Access access;
  bool presigns;                     ///< without credentials only OCI does: its server keeps what it grants
  std::string_view encryption = "";  ///< S3: `--sse`
};

inline constexpr ServedCase kServedCases[] = {
    {"s3", "s3://test/", Access::kAnonymous, false},        {"gs", "gs://test/", Access::kAnonymous, false},
    {"oci", "oci://test@assay/", Access::kAnonymous, true}, {"s3_keys", "s3://test/", Access::kKeys, true},
    {"gs_token", "gs://test/", Access::kKeys, true},        {"gs_hmac", "gs://test/", Access::kHmacKeys, true},
    {"oci_key", "oci://test@assay/", Access::kKeys, true}};

/// Etags say nothing of the content, and no two are the same.
inline constexpr ServedCase kKmsCase = {"s3_kms", "s3://test/", Access::kKeys, true, "aws:kms"};

inline StoreOptions OptionsOf(const ServedCase& served) {
  StoreOptions options;
  if (!served.encryption.empty()) {
    options.own["encryption"] = served.encryption;
  }
  return options;
}

/// The server has the bucket "test" and lets in who has `access`; `options` are completed with its address.
class ServedStore final : public StoreUnderTest {
 public:
  explicit ServedStore(const std::string& uri, objectserver::ServeOptions serve = {}, StoreOptions options = {},
                       Access access = Access::kAnonymous) {
    serve.buckets = {"test"};
    options.anonymous = access == Access::kAnonymous;
    if (!options.anonymous) {
      credentials_.emplace();
      serve.credentials_file = credentials_->server_file();
    }
    auto server = objectserver::ObjectServer::Start(serve);
    EXPECT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
    options.endpoint = server_->url();
    options.region = "us-east-1";
    if (credentials_) {
      credentials_->GiveToClients(server_->url(), access);
    }
    options.part_bytes = 5 << 20;
    auto opened = OpenStore(uri, options);
    EXPECT_THAT(opened.status(), IsOk());
    store_ = opened->store;
  }
  ObjectStore& store() override { return *store_; }
  std::optional<int64_t> bytes_sent() override { return NetworkBytesReceived(*server_); }
  std::string url() const { return server_->url(); }
  objectserver::ObjectServer& server() { return *server_; }
  int temporary_keys_given() const { return credentials_ ? credentials_->temporary_keys_given() : 0; }

 private:
  std::optional<ServedCredentials> credentials_;
  std::unique_ptr<objectserver::ObjectServer> server_;
  std::shared_ptr<ObjectStore> store_;
};

}  // namespace assay::storage
