// Where a data set stands: the objects below a prefix of a store, or the files of a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "storage/object_store.h"

namespace assay::shards {

struct DatasetPlace {
  std::shared_ptr<storage::ObjectStore> store{};
  std::string prefix{};  ///< empty, or with '/' at its end
  storage::CancelFlag cancel = nullptr;

  std::string Key(std::string_view name) const { return prefix + std::string(name); }
  std::string Uri(std::string_view name = {}) const { return store->Uri(Key(name)); }
};

/// Bytes with whoever keeps them: memory of their own, or a file where it lies.
struct Blob {
  std::shared_ptr<const void> owner{};
  std::span<const std::byte> bytes{};

  std::string_view text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
};

inline storage::Bytes AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

/// Memory that nothing was written into yet, and the blob that it is to become.
struct NewBlob {
  Blob blob;
  std::span<std::byte> memory;

  static NewBlob Of(size_t bytes);
};

/// The whole object; of a file its pages, mapped. Nothing where there is none.
Result<std::optional<Blob>> FindBlob(const DatasetPlace& place, std::string_view name);

/// Likewise one that must be there and have `bytes`, or any number where those are below 0: an error says what it has
/// in place of them.
Result<Blob> ReadBlob(const DatasetPlace& place, std::string_view name, int64_t bytes);

}  // namespace assay::shards
