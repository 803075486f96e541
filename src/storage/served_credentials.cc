#include "storage/served_credentials.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "storage/auth/time_format.h"

namespace assay::storage {
namespace {

constexpr const char* kKeyId = "AKIDTEST";
constexpr const char* kSecret = "secret/of+tests";
constexpr const char* kAccount = "tests@assay";
constexpr const char* kFingerprint = "20:20:20:20:20:20:20:20:20:20:20:20:20:20:20:20";

struct KeyPair {
  std::string private_pem;
  std::string public_pem;
};

std::string TextOf(BIO* bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  return {text, static_cast<size_t>(size)};
}

KeyPair MakeKeyPair() {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_RSA_gen(2048), EVP_PKEY_free);
  const auto new_bio = [] { return std::unique_ptr<BIO, decltype(&BIO_free)>(BIO_new(BIO_s_mem()), BIO_free); };
  const auto secret = new_bio();
  const auto open = new_bio();
  EXPECT_EQ(PEM_write_bio_PrivateKey(secret.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr), 1);
  EXPECT_EQ(PEM_write_bio_PUBKEY(open.get(), key.get()), 1);
  return {TextOf(secret.get()), TextOf(open.get())};
}

/// One for the whole program: making one takes a while.
const KeyPair& Keys() {
  static const KeyPair keys = MakeKeyPair();
  return keys;
}

/// Keys that a container may be given, one after the other, and how long each serves.
constexpr int kTemporaryKeys = 300;
constexpr int64_t kTemporarySeconds = 2;

}  // namespace

ScopedVariable::ScopedVariable(const char* name, const std::string& value)
    : name_(name), was_set_(std::getenv(name) != nullptr), before_(was_set_ ? std::getenv(name) : "") {
  value.empty() ? ::unsetenv(name) : ::setenv(name, value.c_str(), 1);
}

ScopedVariable::~ScopedVariable() {
  was_set_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_);
}

ServedCredentials::ServedCredentials()
    : folder_(TemporaryDirectory::Create("served-credentials").value()),
      started_(static_cast<int64_t>(WallClockSeconds())) {
  Write("public.pem", Keys().public_pem);
  Write("private.pem", Keys().private_pem);
  const std::string pem = folder_.path() + "/public.pem";
  std::string temporary;
  for (int i = 0; i < kTemporaryKeys; ++i) {
    temporary += fmt::format(", {{access_key_id: T{0}, secret_access_key: s{0}, session_token: t{0}, expires: {1}}}", i,
                             started_ + (i + 1) * kTemporarySeconds);
  }
  Write("server.yaml", fmt::format("keys: [{{access_key_id: {}, secret_access_key: {}}}{}]\n"
                                   "service_accounts: [{{client_email: {}, public_key_file: {}}}]\n"
                                   "oci_keys: [{{key_id: 't/u/{}', public_key_file: {}}}]\n",
                                   kKeyId, kSecret, temporary, kAccount, pem, kFingerprint, pem));
}

std::string ServedCredentials::TemporaryKeys() {
  ++temporary_keys_given_;
  const int64_t i = (static_cast<int64_t>(WallClockSeconds()) - started_) / kTemporarySeconds;
  return DumpJson({{"AccessKeyId", fmt::format("T{}", i)},
                   {"SecretAccessKey", fmt::format("s{}", i)},
                   {"Token", fmt::format("t{}", i)},
                   {"Expiration", IsoTime(static_cast<double>(started_ + (i + 1) * kTemporarySeconds))}});
}

void ServedCredentials::Write(const std::string& name, const std::string& text) const {
  EXPECT_TRUE(WriteFileAtomically(folder_.path() + "/" + name, text).ok());
}

void ServedCredentials::GiveToClients(const std::string& url, Access access) {
  Write("google.json", DumpJson({{"type", "service_account"},
                                 {"client_email", kAccount},
                                 {"private_key", Keys().private_pem},
                                 {"token_uri", url + "/token"}}));
  Write("oci", fmt::format("[DEFAULT]\nuser=u\ntenancy=t\nfingerprint={}\nkey_file={}/private.pem\nregion=r\n",
                           kFingerprint, folder_.path()));
  const bool hmac = access == Access::kHmacKeys;
  const bool temporary = access == Access::kTemporaryKeys;
  if (temporary) {
    auto server = http::Server::Start({}, http::WholeBody([this](const http::RequestHead&, std::string_view) {
                                        return http::TextResponse(200, TemporaryKeys());
                                      }));
    EXPECT_TRUE(server.ok());
    container_ = *std::move(server);
  }
  const std::pair<const char*, std::string> values[] = {
      {"HOME", folder_.path()},
      {"AWS_ACCESS_KEY_ID", temporary ? "" : kKeyId},
      {"AWS_SECRET_ACCESS_KEY", temporary ? "" : kSecret},
      {"AWS_CONTAINER_CREDENTIALS_FULL_URI", temporary ? container_->url() + "/keys" : ""},
      {"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", ""},
      {"AWS_SESSION_TOKEN", ""},
      {"AWS_PROFILE", ""},
      {"GOOGLE_APPLICATION_CREDENTIALS", folder_.path() + "/google.json"},
      {"GCS_HMAC_ACCESS_KEY_ID", hmac ? kKeyId : ""},
      {"GCS_HMAC_SECRET_ACCESS_KEY", hmac ? kSecret : ""},
      {"STORAGE_EMULATOR_HOST", ""},
      {"OCI_CLI_CONFIG_FILE", folder_.path() + "/oci"},
      {"OCI_CLI_AUTH", ""},
      {"OCI_CLI_PROFILE", ""},
  };
  for (const auto& [name, value] : values) {
    variables_.push_back(std::make_unique<ScopedVariable>(name, value));
  }
}

}  // namespace assay::storage
