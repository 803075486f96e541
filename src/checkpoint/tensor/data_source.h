// Where bytes of tensors come from: memory, a file that is mapped, a range of an object in any store.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::checkpoint {

/// Bytes that can be read in any order and from several threads. Nothing joins them to a copy of the whole.
class DataSource {
 public:
  virtual ~DataSource() = default;

  /// For messages.
  virtual std::string uri() const = 0;
  virtual int64_t bytes() const = 0;
  /// Fills every piece, in parallel where that helps. InvalidArgument for a piece that does not lie within.
  virtual Status Read(std::span<const storage::ReadPiece> pieces) const = 0;
  /// The bytes where they lie; nothing where only Read() gets at them, also of no bytes. Valid as long as the source.
  virtual Result<std::optional<storage::Bytes>> View(int64_t offset, int64_t bytes) const {
    return std::optional<storage::Bytes>();
  }
  /// Of what others may write into, asked after the last byte was used: FailedPrecondition where it is not what it was
  /// when it was opened.
  virtual Status CheckUnchanged() const { return Status::Ok(); }
};

/// Memory, and what keeps it alive.
class MemorySource final : public DataSource {
 public:
  explicit MemorySource(storage::Bytes memory, std::shared_ptr<const void> owner = nullptr, std::string uri = "memory")
      : memory_(memory), owner_(std::move(owner)), uri_(std::move(uri)) {}

  std::string uri() const override { return uri_; }
  int64_t bytes() const override { return static_cast<int64_t>(memory_.size()); }
  Status Read(std::span<const storage::ReadPiece> pieces) const override;
  Result<std::optional<storage::Bytes>> View(int64_t offset, int64_t bytes) const override;

 private:
  storage::Bytes memory_;
  std::shared_ptr<const void> owner_;
  std::string uri_;
};

/// A source of the text's bytes.
std::shared_ptr<const DataSource> SourceOfText(std::string text, std::string uri = "memory");

/// One version of an object. Of a file the bytes are mapped, of other stores they are fetched as they are asked for.
/// `cancel` must live as long. NotFound where there is no such object. `verify`: with the checksums that the store has,
/// of which whoever has better ones needs none.
Result<std::shared_ptr<const DataSource>> OpenObject(std::shared_ptr<storage::ObjectStore> store,
                                                     const std::string& key, storage::CancelFlag cancel = nullptr,
                                                     bool verify = true);
/// Likewise of an object that was asked for already: the version that `info` describes.
Result<std::shared_ptr<const DataSource>> OpenObject(std::shared_ptr<storage::ObjectStore> store,
                                                     storage::ObjectInfo info, storage::CancelFlag cancel = nullptr,
                                                     bool verify = true);

/// [offset, offset + bytes) of `source`, which must hold it.
std::shared_ptr<const DataSource> RangeOf(std::shared_ptr<const DataSource> source, int64_t offset, int64_t bytes);

/// `source` with the given ranges of it, which lie within, fetched at once and kept: for many small reads that follow.
Result<std::shared_ptr<const DataSource>> Prefetch(std::shared_ptr<const DataSource> source,
                                                   std::span<const std::pair<int64_t, int64_t>> offsets_and_bytes);

/// All of it, as text. InvalidArgument where it has more bytes than `most`.
Result<std::string> ReadBounded(const DataSource& source, int64_t most);
/// Bytes of `source`, as text. InvalidArgument where it does not hold them.
Result<std::string> ReadText(const DataSource& source, int64_t offset, int64_t bytes);

}  // namespace assay::checkpoint
