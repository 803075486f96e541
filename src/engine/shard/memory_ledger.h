// What the sharding engine holds, by purpose.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace assay::engine {

enum class MemoryKind {
  kParameters,     ///< weights that the model reads: whole, gathered or at rest as shards
  kGradients,      ///< what the optimiser reads
  kMaster,         ///< weights that the optimiser updates, where the model does not read them
  kMoments,        ///< the optimiser's states
  kCommunication,  ///< gradients on their way to being split, and what a collective needs beside its result
  kOffloaded,      ///< in host memory
};
inline constexpr int kMemoryKinds = 6;

/// "parameters", "gradients", ...
std::string_view memory_kind_name(MemoryKind kind);

using MemoryByKind = std::array<int64_t, kMemoryKinds>;

struct MemoryPeak {
  int64_t total = 0;
  MemoryByKind by_kind{};  ///< as they were then
};

/// Bytes by kind, now and at the highest total since the last reset. One rank's, one thread's.
class MemoryLedger {
 public:
  void add(MemoryKind kind, int64_t bytes);  ///< negative: given back

  int64_t live(MemoryKind kind) const { return live_[static_cast<size_t>(kind)]; }
  int64_t live_total() const { return live_total_; }
  const MemoryByKind& now() const { return live_; }

  /// Of the device alone; `with_offloaded` where host memory is the device's own, as on the CPU.
  const MemoryPeak& peak(bool with_offloaded = false) const { return with_offloaded ? with_offloaded_ : device_; }
  void reset_peak();

 private:
  int64_t live_with_offloaded() const { return live_total_ + live(MemoryKind::kOffloaded); }

  MemoryByKind live_{};
  int64_t live_total_ = 0;
  MemoryPeak device_;
  MemoryPeak with_offloaded_;
};

}  // namespace assay::engine
