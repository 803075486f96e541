// How to reach a store: what users set through flags, ASSAY_* variables, the stores' own variables or a YAML file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace assay::storage {

class BufferAllocator;  // storage/buffer_allocator.h
class RequestObserver;  // storage/transfer/observer.h

/// Zero and empty mean "the documented rule decides". Read in this order, the first that says something wins: flags,
/// YAML, ASSAY_* variables, the store's own variables and configuration files.
struct StoreOptions {
  std::string endpoint;  ///< "http://127.0.0.1:9000"; empty: the provider's
  std::string region;
  std::string profile;
  bool anonymous = false;
  bool requester_pays = false;
  std::string storage_class;
  std::string encryption_key_id;
  /// Options that one kind of store alone has, by their keys (StoreKind::options); those of others are not looked at.
  /// Switches are "true" or "false".
  std::map<std::string, std::string, std::less<>> own;

  int64_t part_bytes = 0;
  int connections = 0;
  int io_threads = 0;                                ///< that move bytes, the connections shared among them
  bool libcurl = false;                              ///< moves all bytes, not only those that may go through a proxy
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
  /// Of all that the memory budget counts; the heap when null. Not read from anywhere.
  std::shared_ptr<BufferAllocator> buffers;

  /// Of `own`; empty where it is not set.
  std::string Own(std::string_view key) const {
    const auto found = own.find(key);
    return found == own.end() ? std::string() : found->second;
  }
  /// Likewise a switch; nothing where it is not set.
  std::optional<bool> OwnSwitch(std::string_view key) const {
    const std::string text = Own(key);
    return text.empty() ? std::nullopt : std::optional(text == "true");
  }
};

}  // namespace assay::storage
