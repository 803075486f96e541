#include "shards/dataset/place.h"

#include <fmt/format.h>

#include <utility>

#include "storage/file/file_store.h"

namespace assay::shards {
namespace {

/// Offsets of shards reach 4 GiB; what does not compress may take a little more.
constexpr int64_t kMostBytes = int64_t{5} << 30;

storage::ReadOptions ReadOptionsOf(const DatasetPlace& place) {
  storage::ReadOptions options;
  options.cancel = place.cancel;
  return options;
}

Result<Blob> MapFile(const storage::FileStore& files, const std::string& key) {
  ASSAY_ASSIGN_OR_RETURN(storage::MappedObject mapped, files.Map(key));
  auto owner = std::make_shared<const storage::MappedObject>(std::move(mapped));
  return Blob{owner, owner->bytes()};
}

Result<Blob> ReadObject(const DatasetPlace& place, const std::string& key) {
  if (const storage::FileStore* files = place.store->as_files()) {
    return MapFile(*files, key);
  }
  NewBlob read;
  const auto allocate = [&read](int64_t size) {
    read = NewBlob::Of(static_cast<size_t>(size));
    return read.memory;
  };
  ASSAY_RETURN_IF_ERROR(place.store->ReadWhole(key, allocate, ReadOptionsOf(place)).status());
  return read.blob;
}

Status WrongSize(const DatasetPlace& place, std::string_view name, int64_t has, int64_t bytes) {
  return Status::InvalidArgument(
      fmt::format("{} has {} bytes in place of the {} that the index says", place.Uri(name), has, bytes));
}

}  // namespace

NewBlob NewBlob::Of(size_t bytes) {
  std::shared_ptr<std::byte[]> memory = std::make_unique_for_overwrite<std::byte[]>(bytes);
  const std::span<std::byte> span(memory.get(), bytes);
  return {.blob = {.owner = std::move(memory), .bytes = span}, .memory = span};
}

Result<std::optional<Blob>> FindBlob(const DatasetPlace& place, std::string_view name) {
  Result<Blob> blob = ReadObject(place, place.Key(name));
  if (blob.ok()) {
    return std::optional(*std::move(blob));
  }
  if (blob.status().code() != ErrorCode::kNotFound) {
    return blob.status();
  }
  // A bucket that is missing is none of what may be absent.
  ASSAY_RETURN_IF_ERROR(place.store->ExplainAbsence(place.Key(name)));
  return std::optional<Blob>();
}

Result<Blob> ReadBlob(const DatasetPlace& place, std::string_view name, int64_t bytes) {
  if (const storage::FileStore* files = place.store->as_files()) {
    ASSAY_ASSIGN_OR_RETURN(Blob blob, MapFile(*files, place.Key(name)));
    const auto has = static_cast<int64_t>(blob.bytes.size());
    return bytes < 0 || has == bytes ? Result<Blob>(std::move(blob)) : WrongSize(place, name, has, bytes);
  }
  if (bytes < 0) {
    ASSAY_ASSIGN_OR_RETURN(const auto stands, place.store->Stat(place.Key(name)));
    if (!stands) {
      return Status::NotFound(fmt::format("{} does not exist", place.Uri(name)));
    }
    bytes = stands->size;
  }
  if (bytes > kMostBytes) {
    return Status::InvalidArgument(
        fmt::format("{} is to have {} bytes: more than a shard can", place.Uri(name), bytes));
  }
  NewBlob read = NewBlob::Of(static_cast<size_t>(bytes));
  const storage::ReadPiece piece = {.offset = 0, .memory = read.memory};
  const auto info = place.store->Read(place.Key(name), {&piece, 1}, ReadOptionsOf(place));
  if (!info.ok()) {
    const auto stands = info.status().code() == ErrorCode::kInvalidArgument
                            ? place.store->Stat(place.Key(name))
                            : Result<std::optional<storage::ObjectInfo>>(std::nullopt);
    return stands.ok() && *stands && (*stands)->size != bytes ? WrongSize(place, name, (*stands)->size, bytes)
                                                              : info.status();
  }
  return info->size == bytes ? Result<Blob>(read.blob) : WrongSize(place, name, info->size, bytes);
}

}  // namespace assay::shards
