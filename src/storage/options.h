// How to reach a store: what users set through flags, ASSAY_* variables, the stores' own variables or a YAML file.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace assay::storage {

class RequestObserver;  // storage/transfer/observer.h

/// Whether a store keeps the conditions of writes (If-None-Match, If-Match).
enum class ConditionalWrites {
  kAuto,  ///< Amazon's does; every other endpoint is tried before the first write under one
  kYes,
  kNo,  ///< writes under a condition are refused
};

/// Zero and empty mean "the documented rule decides". Read in this order, the first that says something wins: flags,
/// YAML, ASSAY_* variables, the store's own variables and configuration files.
struct StoreOptions {
  std::string endpoint;  ///< "http://127.0.0.1:9000"; empty: the provider's
  std::string region;
  bool virtual_host_style = true;  ///< S3: bucket in the host name; off when an endpoint is an IP address
  bool virtual_host_style_set = false;
  std::string profile;
  bool anonymous = false;
  bool requester_pays = false;
  std::string storage_class;
  std::string encryption;  ///< S3: "AES256", "aws:kms"
  std::string encryption_key_id;
  /// S3: checksums follow the body (aws-chunked), computed while it is sent, instead of standing in a header before it.
  /// Only for stores that know this encoding: others take it for content.
  bool trailing_checksums = false;
  ConditionalWrites conditional_writes = ConditionalWrites::kAuto;  ///< S3
  std::string project;                                              ///< GCS: billed project
  std::string compartment;                                          ///< OCI

  int64_t part_bytes = 0;
  int connections = 0;
  int64_t memory_budget_bytes = int64_t{256} << 20;  ///< parts in flight and buffers, beyond the caller's own memory
  int64_t bandwidth_bytes_per_s = 0;                 ///< cap; 0: none

  double connect_timeout_seconds = 10;
  double stall_timeout_seconds = 20;  ///< no byte moved for so long
  double deadline_seconds = 0;        ///< of a whole operation with its retries; 0: none
  double give_up_seconds = 15;        ///< of giving up an upload that failed: whoever waits for that has failed already
  int max_attempts = 8;               ///< of one request
  bool verify_tls = true;
  std::string ca_file;
  std::string proxy;

  /// Told of every request that is sent; none when null. Not read from anywhere.
  std::shared_ptr<RequestObserver> observer;
};

}  // namespace assay::storage
