// For tests: keys of every kind that an embedded server may ask for, and the client's side of them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "http/server.h"

namespace assay::storage {

/// A variable of the process's environment for as long as this lives; an empty value takes it away. Not for programs
/// whose other threads read the environment.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value);
  ~ScopedVariable();
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  bool was_set_;
  std::string before_;
};

/// How the client of a served store proves who it is.
enum class Access {
  kAnonymous,      ///< not at all, and the server lets everybody in
  kKeys,           ///< S3: access keys; GCS: the tokens of a service account; OCI: an API key
  kHmacKeys,       ///< GCS: HMAC keys, and with them the XML interface
  kTemporaryKeys,  ///< S3: those that a container is given, each for two seconds at most
};

/// Credentials for S3, GCS and OCI, in the server's file and in the places where clients look.
class ServedCredentials {
 public:
  ServedCredentials();
  /// For ServeOptions::credentials_file.
  std::string server_file() const { return folder_.path() + "/server.yaml"; }
  /// Makes them what clients of the server at `url` find, for as long as this lives.
  void GiveToClients(const std::string& url, Access access);
  /// How many were asked for.
  int temporary_keys_given() const { return temporary_keys_given_; }

 private:
  void Write(const std::string& name, const std::string& text) const;
  /// What a container's endpoint answers now.
  std::string TemporaryKeys();

  TemporaryDirectory folder_;
  const int64_t started_;  ///< seconds since 1970
  std::atomic<int> temporary_keys_given_ = 0;
  std::unique_ptr<http::Server> container_;
  std::vector<std::unique_ptr<ScopedVariable>> variables_;
};

}  // namespace assay::storage
