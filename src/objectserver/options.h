// How an object server is started.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace assay::objectserver {

struct ServeOptions {
  std::string root = "memory";  ///< a folder, made if missing, or "memory"
  std::string host = "127.0.0.1";
  int port = 0;     ///< 0: any free one
  int threads = 0;  ///< event loops; 0: one a core, 2 to 8
  /// PEM: a chain of certificates and its key. Empty: plain http.
  std::string tls_certificate_file{};
  std::string tls_key_file{};
  std::vector<std::string> dialects = {"s3", "gcs", "oci"};

  /// A YAML file of keys (see credentials.h). Empty: everybody may do everything.
  std::string credentials_file;
  std::string region = "us-east-1";  ///< of new buckets and of signatures
  /// Hosts below which a bucket's name may stand: "bucket.localhost".
  std::vector<std::string> domains = {"localhost", "s3.localhost", "s3.amazonaws.com", "storage.googleapis.com"};
  /// Entity tags are the content's MD5 whatever it costs; else only of small bodies and where a client sent an MD5.
  bool always_md5 = false;

  std::string profile;  ///< a file, or the name of one in share/profiles; empty: nothing is modelled
  uint64_t seed = 0;

  /// Buckets made at the start, where missing.
  std::vector<std::string> buckets;
};

}  // namespace assay::objectserver
