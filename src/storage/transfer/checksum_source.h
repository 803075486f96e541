// The body of an upload with its checksum.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "http/body.h"
#include "storage/integrity/checksum.h"

namespace assay::storage {

/// Pieces of memory that are sent one after the other; their checksum is computed as they go, while they are in cache,
/// or beforehand for a store that wants it in a header. Does not own the memory.
class ChecksumSource : public http::BodySource {
 public:
  ChecksumSource(std::vector<std::span<const std::byte>> pieces, ChecksumKind kind);

  int64_t bytes() const override { return spans_.bytes(); }
  size_t Read(std::span<std::byte> out) override;
  std::span<const std::byte> Peek(size_t most) const override { return spans_.Peek(most); }
  void Skip(size_t count) override;
  void Rewind() override;

  /// Asked before the last bytes are given: false refuses them. Called on an I/O thread of the client.
  using Guard = std::function<bool()>;
  void set_guard(Guard guard) { guard_ = std::move(guard); }

  ChecksumKind kind() const { return kind_; }
  /// Of all bytes. Computes it now if they have not all been read; later reads do not compute it again.
  const Checksum& checksum();

 private:
  std::vector<std::span<const std::byte>> pieces_;
  http::SpanSource spans_;
  ChecksumKind kind_;
  ChecksumStream stream_;
  int64_t read_bytes_ = 0;
  Guard guard_;
  std::optional<Checksum> checksum_;
};

}  // namespace assay::storage
