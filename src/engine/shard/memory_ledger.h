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

/// Bytes by kind, now and at the highest total. Offloaded bytes do not count in totals. One rank's, one thread's.
class MemoryLedger {
 public:
  void add(MemoryKind kind, int64_t bytes);  ///< negative: given back

  int64_t live(MemoryKind kind) const { return live_[static_cast<size_t>(kind)]; }
  int64_t live_total() const { return live_total_; }
  int64_t peak_total() const { return peak_total_; }
  /// As they were when the total was highest since the last reset.
  const MemoryByKind& at_peak() const { return at_peak_; }
  const MemoryByKind& now() const { return live_; }
  /// Highest total since the last reset where host memory is the device's own: with what is offloaded.
  int64_t peak_with_offloaded() const { return peak_with_offloaded_; }
  int64_t live_with_offloaded() const { return live_total_ + live(MemoryKind::kOffloaded); }
  void reset_peak();

 private:
  void take_peak();

  MemoryByKind live_{};
  MemoryByKind at_peak_{};
  int64_t live_total_ = 0;
  int64_t peak_total_ = 0;
  int64_t peak_with_offloaded_ = 0;
};

}  // namespace assay::engine
