// A folder of decompressed shards, shared by all ranks of a machine.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "shards/dataset/place.h"

namespace assay::shards {

/// Every file ends with its size and a digest: what a crash left is found damaged and fetched again. Files appear whole
/// under their names, so that nobody waits for a lock. Files of other names or without that end are never touched.
/// Safe from several threads and processes.
class DiskCache {
 public:
  /// Makes the folder where it is missing, and removes what processes that are gone left half-written. Fails where
  /// nothing can be written there.
  static Result<std::unique_ptr<DiskCache>> Open(const std::string& folder, int64_t limit_bytes);

  /// Mapped, its digest checked. Nothing where there is none; a damaged one is removed.
  std::optional<Blob> Find(const std::string& name);

  /// When a name is needed next; the largest number: it is not known to be.
  using NextUse = std::function<int64_t(const std::string& name)>;
  /// FailedPrecondition where so many bytes are more than the limit.
  Status CheckTakes(int64_t bytes) const;
  /// Removes what is needed last until `content` fits, and writes it. What CheckTakes() says; kIo where the disk is
  /// full.
  Status Put(const std::string& name, std::span<const std::byte> content, const NextUse& next_use);

  /// Whether this caller is the one to fetch `name`: false while another one, that lives, does. Ends with the claim.
  class Claim {
   public:
    explicit Claim(std::string path) : path_(std::move(path)) {}
    Claim(Claim&& other) noexcept : path_(std::exchange(other.path_, {})) {}
    Claim& operator=(Claim&& other) noexcept {
      std::swap(path_, other.path_);
      return *this;
    }
    ~Claim();

   private:
    std::string path_;
  };
  std::optional<Claim> TryClaim(const std::string& name);

 private:
  DiskCache(std::string folder, int64_t limit_bytes) : folder_(std::move(folder)), limit_bytes_(limit_bytes) {}
  std::string PathOf(const std::string& name) const;
  void MakeRoom(int64_t bytes, const NextUse& next_use);
  void RemoveLeftovers();

  const std::string folder_;
  const int64_t limit_bytes_;
};

}  // namespace assay::shards
