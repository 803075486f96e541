#include "checkpoint/tensor/data_source.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "storage/file/file_store.h"
#include "storage/store_checks.h"

namespace assay::checkpoint {
namespace {

using storage::Bytes;
using storage::ReadPiece;

Status CheckRange(const DataSource& source, int64_t offset, int64_t bytes) {
  if (offset >= 0 && bytes >= 0 && bytes <= source.bytes() && offset <= source.bytes() - bytes) {
    return Status::Ok();
  }
  return Status::InvalidArgument(fmt::format("{} ends at byte {}, but bytes {} to {} of it are needed: it is truncated",
                                             source.uri(), source.bytes(), offset, offset + bytes));
}

/// Pieces of memory that holds the whole source.
Status CopyPieces(const DataSource& source, Bytes memory, std::span<const ReadPiece> pieces) {
  for (const ReadPiece& piece : pieces) {
    ASSAY_RETURN_IF_ERROR(CheckRange(source, piece.offset, static_cast<int64_t>(piece.memory.size())));
    if (!piece.memory.empty()) {
      std::memcpy(piece.memory.data(), memory.data() + piece.offset, piece.memory.size());
    }
  }
  return Status::Ok();
}

Result<std::optional<Bytes>> ViewOf(const DataSource& source, Bytes memory, int64_t offset, int64_t bytes) {
  ASSAY_RETURN_IF_ERROR(CheckRange(source, offset, bytes));
  return std::optional(memory.subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes)));
}

/// A file where it lies.
class MappedSource final : public DataSource {
 public:
  MappedSource(std::shared_ptr<storage::ObjectStore> store, storage::MappedObject object, std::string uri)
      : store_(std::move(store)), object_(std::move(object)), uri_(std::move(uri)) {}

  std::string uri() const override { return uri_; }
  int64_t bytes() const override { return object_.info().size; }
  Status Read(std::span<const ReadPiece> pieces) const override {
    ASSAY_RETURN_IF_ERROR(CopyPieces(*this, object_.bytes(), pieces));
    return object_.CheckUnchanged();
  }
  Result<std::optional<Bytes>> View(int64_t offset, int64_t bytes) const override {
    return ViewOf(*this, object_.bytes(), offset, bytes);
  }
  Status CheckUnchanged() const override { return object_.CheckUnchanged(); }

 private:
  std::shared_ptr<storage::ObjectStore> store_;
  storage::MappedObject object_;
  std::string uri_;
};

/// An object that is fetched.
class RemoteSource final : public DataSource {
 public:
  RemoteSource(std::shared_ptr<storage::ObjectStore> store, storage::ObjectInfo info, storage::CancelFlag cancel,
               bool verify)
      : store_(std::move(store)), info_(std::move(info)), cancel_(cancel), verify_(verify) {}

  std::string uri() const override { return store_->Uri(info_.key); }
  int64_t bytes() const override { return info_.size; }
  Status Read(std::span<const ReadPiece> pieces) const override {
    for (const ReadPiece& piece : pieces) {
      ASSAY_RETURN_IF_ERROR(CheckRange(*this, piece.offset, static_cast<int64_t>(piece.memory.size())));
    }
    storage::ReadOptions options;
    options.if_match = info_.etag;
    options.known = &info_;
    options.cancel = cancel_;
    options.verify = verify_;
    return store_->Read(info_.key, pieces, options).status();
  }

 private:
  std::shared_ptr<storage::ObjectStore> store_;
  const storage::ObjectInfo info_;
  const storage::CancelFlag cancel_;
  const bool verify_;
};

class RangeSource final : public DataSource {
 public:
  RangeSource(std::shared_ptr<const DataSource> source, int64_t offset, int64_t bytes)
      : source_(std::move(source)), offset_(offset), bytes_(bytes) {}

  std::string uri() const override { return source_->uri(); }
  int64_t bytes() const override { return bytes_; }
  Status Read(std::span<const ReadPiece> pieces) const override {
    std::vector<ReadPiece> moved(pieces.begin(), pieces.end());
    for (ReadPiece& piece : moved) {
      ASSAY_RETURN_IF_ERROR(CheckRange(*this, piece.offset, static_cast<int64_t>(piece.memory.size())));
      piece.offset += offset_;
    }
    return source_->Read(moved);
  }
  Result<std::optional<Bytes>> View(int64_t offset, int64_t bytes) const override {
    ASSAY_RETURN_IF_ERROR(CheckRange(*this, offset, bytes));
    return source_->View(offset_ + offset, bytes);
  }
  Status CheckUnchanged() const override { return source_->CheckUnchanged(); }

 private:
  std::shared_ptr<const DataSource> source_;
  int64_t offset_;
  int64_t bytes_;
};

class PrefetchedSource final : public DataSource {
 public:
  struct Kept {
    int64_t offset;
    std::vector<std::byte> bytes;
  };
  PrefetchedSource(std::shared_ptr<const DataSource> source, std::vector<Kept> kept)
      : source_(std::move(source)), kept_(std::move(kept)) {}

  std::string uri() const override { return source_->uri(); }
  int64_t bytes() const override { return source_->bytes(); }
  Status Read(std::span<const ReadPiece> pieces) const override {
    std::vector<ReadPiece> missing;
    for (const ReadPiece& piece : pieces) {
      if (!Copy(piece)) {
        missing.push_back(piece);
      }
    }
    return missing.empty() ? Status::Ok() : source_->Read(missing);
  }
  Status CheckUnchanged() const override { return source_->CheckUnchanged(); }

 private:
  bool Copy(const ReadPiece& piece) const {
    for (const Kept& kept : kept_) {
      const int64_t within = piece.offset - kept.offset;
      const auto size = static_cast<int64_t>(kept.bytes.size());
      const auto wanted = static_cast<int64_t>(piece.memory.size());
      if (within >= 0 && wanted <= size && within <= size - wanted) {
        std::copy_n(kept.bytes.begin() + within, wanted, piece.memory.begin());
        return true;
      }
    }
    return false;
  }

  std::shared_ptr<const DataSource> source_;
  std::vector<Kept> kept_;
};

}  // namespace

Status MemorySource::Read(std::span<const ReadPiece> pieces) const {
  return CopyPieces(*this, memory_, pieces);
}

Result<std::optional<Bytes>> MemorySource::View(int64_t offset, int64_t bytes) const {
  return ViewOf(*this, memory_, offset, bytes);
}

std::shared_ptr<const DataSource> SourceOfText(std::string text, std::string uri) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  return std::make_shared<MemorySource>(std::as_bytes(std::span(*owner)), owner, std::move(uri));
}

Result<std::shared_ptr<const DataSource>> OpenObject(std::shared_ptr<storage::ObjectStore> store,
                                                     const std::string& key, storage::CancelFlag cancel, bool verify) {
  ASSAY_ASSIGN_OR_RETURN(storage::ObjectInfo info, storage::StatExisting(*store, key, "read", cancel));
  return OpenObject(std::move(store), std::move(info), cancel, verify);
}

Result<std::shared_ptr<const DataSource>> OpenObject(std::shared_ptr<storage::ObjectStore> store,
                                                     storage::ObjectInfo info, storage::CancelFlag cancel,
                                                     bool verify) {
  if (const storage::FileStore* files = store->as_files(); files != nullptr) {
    ASSAY_ASSIGN_OR_RETURN(storage::MappedObject object, files->Map(info.key));
    if (object.info().etag != info.etag) {
      return storage::ChangedObjectStatus(store->Uri(info.key), info.etag, object.info().etag);
    }
    std::string uri = store->Uri(info.key);
    return std::shared_ptr<const DataSource>(
        std::make_shared<MappedSource>(std::move(store), std::move(object), std::move(uri)));
  }
  return std::shared_ptr<const DataSource>(
      std::make_shared<RemoteSource>(std::move(store), std::move(info), cancel, verify));
}

std::shared_ptr<const DataSource> RangeOf(std::shared_ptr<const DataSource> source, int64_t offset, int64_t bytes) {
  return std::make_shared<RangeSource>(std::move(source), offset, bytes);
}

Result<std::shared_ptr<const DataSource>> Prefetch(std::shared_ptr<const DataSource> source,
                                                   std::span<const std::pair<int64_t, int64_t>> offsets_and_bytes) {
  ASSAY_ASSIGN_OR_RETURN(const auto view, source->View(0, 0));
  if (view) {
    return source;
  }
  std::vector<PrefetchedSource::Kept> kept;
  std::vector<ReadPiece> pieces;
  for (const auto& [offset, bytes] : offsets_and_bytes) {
    kept.push_back({offset, std::vector<std::byte>(static_cast<size_t>(bytes))});
    pieces.push_back({offset, kept.back().bytes});
  }
  ASSAY_RETURN_IF_ERROR(source->Read(pieces));
  return std::shared_ptr<const DataSource>(std::make_shared<PrefetchedSource>(std::move(source), std::move(kept)));
}

Result<std::string> ReadBounded(const DataSource& source, int64_t most) {
  if (source.bytes() > most) {
    return Status::InvalidArgument(
        fmt::format("{} has {} bytes, more than the {} that make sense", source.uri(), source.bytes(), most));
  }
  return ReadText(source, 0, source.bytes());
}

Result<std::string> ReadText(const DataSource& source, int64_t offset, int64_t bytes) {
  ASSAY_RETURN_IF_ERROR(CheckRange(source, offset, bytes));
  std::string text(static_cast<size_t>(bytes), '\0');
  const ReadPiece piece = {offset, std::as_writable_bytes(std::span(text))};
  ASSAY_RETURN_IF_ERROR(source.Read(std::span(&piece, 1)));
  return text;
}

}  // namespace assay::checkpoint
