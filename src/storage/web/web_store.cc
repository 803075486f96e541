#include "storage/web/web_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "storage/auth/anonymous_signer.h"
#include "storage/store_checks.h"
#include "storage/transfer/call_group.h"
#include "storage/transfer/range_reader.h"
#include "storage/transfer/single_call.h"
#include "storage/web/probe_call.h"
#include "storage/web/web_urls.h"

namespace assay::storage {
namespace {

/// The server has no ranges, or none that can be told from those of another version.
bool IsWithoutRanges(const Result<ObjectInfo>& read) {
  return !read.ok() && read.status().code() == ErrorCode::kUnsupported;
}

/// HEAD is not for everybody: some programs behind a server do not know it, and a signed URL may be for GET alone.
bool IsHeadRefused(const CallResult& result) {
  return result.failure &&
         (result.failure->kind == FailureClass::kDenied || result.failure->kind == FailureClass::kPermanent);
}

}  // namespace

WebStore::WebStore(std::vector<std::string> folders, StoreOptions options)
    : RemoteReader(std::make_unique<WebDialect>(std::move(folders)), std::make_unique<AnonymousSigner>(),
                   std::move(options)),
      web_(static_cast<const WebDialect&>(*context().dialect)) {}

Task<CallResult> WebStore::Probe(const std::string& key, CancelFlag cancel, ObjectInfo& info) {
  CallGroup::Limits limits;
  limits.cancel = cancel;
  limits.priority = CallEngine::kSinglePriority;
  CallResult result;
  CallGroup calls(context(), limits);
  calls.Add(std::make_unique<ProbeCall>(web_, key, info, result));
  [[maybe_unused]] const Status all = co_await calls.UntilDone();
  co_return result;
}

Task<Result<std::optional<ObjectInfo>>> WebStore::StatAsync(const std::string& key, CancelFlag cancel) {
  ObjectInfo info;
  CallResult result = co_await SendOne(context(),
                                       HeadCall(context(), "stat", key,
                                                [&info](ObjectInfo told) {
                                                  info = std::move(told);
                                                  return std::nullopt;
                                                }),
                                       {.cancel = cancel});
  if (IsHeadRefused(result)) {
    result = co_await Probe(key, cancel, info);
  }
  if (result.failure && result.failure->code == ErrorCode::kUnsupported && !web_.places().is_served_whole(key)) {
    web_.places().SetServedWhole(key);
    result = co_await Probe(key, cancel, info);
  }
  if (result.failure && result.failure->kind == FailureClass::kMissing) {
    co_return std::optional<ObjectInfo>();
  }
  ASSAY_CO_RETURN_IF_ERROR(result.status);
  co_return std::optional(std::move(info));
}

Task<Result<ObjectInfo>> WebStore::ReadInOne(const std::string& key,
                                             const std::function<MutableBytes(int64_t size)>& allocate,
                                             const ReadOptions& options) {
  ASSAY_CO_ASSIGN_OR_RETURN(const std::optional<ObjectInfo> info, co_await StatAsync(key, options.cancel));
  if (!info) {
    co_return MissingObjectStatus("read", Uri(key));
  }
  if (!options.if_match.empty() && options.if_match != info->etag) {
    co_return ChangedObjectStatus(Uri(key), options.if_match, info->etag);
  }
  if (info->size == 0) {
    allocate(0);
    co_return *info;
  }
  ReadOptions read = options;
  read.if_match = info->etag;
  RangeReader reader(context(), key, read);
  co_return co_await reader.ReadWhole(allocate, info->size);
}

Task<Result<ObjectInfo>> WebStore::ReadWholeAsync(const std::string& key,
                                                  const std::function<MutableBytes(int64_t size)>& allocate,
                                                  const ReadOptions& options) {
  // Where the first range came as one and a later one does not, there is memory already.
  std::optional<MutableBytes> memory;
  const std::function<MutableBytes(int64_t)> once = [&](int64_t size) {
    memory = memory && memory->size() == static_cast<size_t>(size) ? *memory : allocate(size);
    return *memory;
  };
  ASSAY_CO_RETURN_IF_ERROR(web_.CheckKey(key));
  if (!web_.places().is_served_whole(key)) {
    Result<ObjectInfo> read = co_await RemoteReader::ReadWholeAsync(key, once, options);
    if (!IsWithoutRanges(read)) {
      co_return read;
    }
    web_.places().SetServedWhole(key);
  }
  co_return co_await ReadInOne(key, once, options);
}

Task<Result<std::shared_ptr<const WholeFile>>> WebStore::FetchWhole(const std::string& key,
                                                                    const ReadOptions& options) {
  std::string etag = options.if_match;
  if (etag.empty()) {
    ASSAY_CO_ASSIGN_OR_RETURN(const std::optional<ObjectInfo> info, co_await StatAsync(key, options.cancel));
    if (!info) {
      co_return MissingObjectStatus("read", Uri(key));
    }
    etag = info->etag;
  }
  // Who comes while it is fetched waits for it.
  const KeyTurns::Turn turn = co_await fetches_.Take(key);
  {
    const std::lock_guard lock(mutex_);
    if (last_ && last_->info.key == key && last_->info.etag == etag) {
      co_return last_;
    }
    last_.reset();
  }
  std::shared_ptr<WholeFile> file;
  Status no_room;
  const std::function<MutableBytes(int64_t)> allocate = [&](int64_t size) {
    auto made = WholeFile::Make(size, Uri(key));
    no_room = made.status();
    file = made.ok() ? *std::move(made) : nullptr;
    return file ? file->memory() : MutableBytes();
  };
  ReadOptions read = options;
  read.if_match = etag;
  read.progress = nullptr;
  read.on_range = nullptr;
  Result<ObjectInfo> info = co_await ReadInOne(key, allocate, read);
  ASSAY_CO_RETURN_IF_ERROR(no_room);
  ASSAY_CO_RETURN_IF_ERROR(info.status());
  file->info = *std::move(info);
  const std::lock_guard lock(mutex_);
  last_ = std::move(file);
  co_return last_;
}

Task<Result<ObjectInfo>> WebStore::ReadAsync(const std::string& key, std::span<const ReadPiece> pieces,
                                             const ReadOptions& options) {
  ASSAY_CO_RETURN_IF_ERROR(web_.CheckKey(key));
  const bool any = std::ranges::any_of(pieces, [](const ReadPiece& piece) { return !piece.memory.empty(); });
  if (!any || !web_.places().is_served_whole(key)) {
    Result<ObjectInfo> read = co_await RemoteReader::ReadAsync(key, pieces, options);
    if (!any || !IsWithoutRanges(read)) {
      co_return read;
    }
    web_.places().SetServedWhole(key);
  }
  ASSAY_CO_ASSIGN_OR_RETURN(const std::shared_ptr<const WholeFile> file, co_await FetchWhole(key, options));
  ASSAY_CO_RETURN_IF_ERROR(CheckPieces(pieces, file->info.size, Uri(key)));
  for (const ReadPiece& piece : pieces) {
    const Bytes from = Bytes(file->memory()).subspan(static_cast<size_t>(piece.offset), piece.memory.size());
    std::memcpy(piece.memory.data(), from.data(), from.size());
    if (options.on_range) {
      options.on_range({piece.offset, static_cast<int64_t>(from.size()), ChecksumOf(ChecksumKind::kCrc32c, from)});
    }
    if (options.progress) {
      options.progress(static_cast<int64_t>(from.size()));
    }
  }
  co_return file->info;
}

std::vector<Status> WebStore::ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) {
  std::vector<Status> statuses = RemoteReader::ReadMany(reads, options);
  std::vector<size_t> whole;
  for (size_t i = 0; i < reads.size(); ++i) {
    if (statuses[i].code() == ErrorCode::kUnsupported) {
      whole.push_back(i);
    }
  }
  ForEach(whole, [&](size_t i) {
    const ObjectRead& read = reads[i];
    statuses[i] = Read(read.key, std::span(&read.piece, 1), read.OptionsOr(options)).status();
  });
  return statuses;
}

Status WebStore::Refuse(std::string_view verb, std::string_view key) const {
  return Status::Unsupported(
      fmt::format("cannot {} {}: web servers are only read, file by file (copy it to a store that can)", verb,
                  key.empty() ? web_.places().folder() : Uri(key)));
}

Task<Result<ObjectInfo>> WebStore::WriteAsync(const std::string& key, std::span<const Bytes>, const WriteOptions&) {
  co_return Refuse("write", key);
}

Result<std::unique_ptr<PartWriter>> WebStore::OpenParts(const std::string& key, const WriteOptions&) {
  return Refuse("write", key);
}

Result<ObjectInfo> WebStore::Write(const std::string& key, std::span<const Bytes>, const WriteOptions&) {
  return Refuse("write", key);
}

Result<std::unique_ptr<ObjectWriter>> WebStore::OpenWriter(const std::string& key, const WriteOptions&) {
  return Refuse("write", key);
}

std::vector<Status> WebStore::WriteMany(std::span<const ObjectWrite> writes, const WriteOptions&) {
  std::vector<Status> refused;
  for (const ObjectWrite& write : writes) {
    refused.push_back(Refuse("write", write.key));
  }
  return refused;
}

Result<ListPage> WebStore::List(const ListOptions& options) {
  return Status::Unsupported(fmt::format(
      "cannot list {}: web servers tell of files by name alone (name each, or one that says which there are)",
      WebUri(web_.places().folder(), options.prefix)));
}

Status WebStore::Remove(const std::string& key) {
  return Refuse("remove", key);
}

std::vector<Status> WebStore::RemoveMany(std::span<const std::string> keys, CancelFlag cancel) {
  std::vector<Status> refused;
  for (const std::string& key : keys) {
    refused.push_back(Refuse("remove", key));
  }
  return refused;
}

Result<ObjectInfo> WebStore::Copy(const std::string&, const std::string& to, const WriteOptions&) {
  return Refuse("write", to);
}

Result<ObjectInfo> WebStore::Compose(std::span<const std::string>, const std::string& to, const WriteOptions&) {
  return Refuse("write", to);
}

Result<std::string> WebStore::Presign(const std::string& key, std::string_view, int64_t, CancelFlag) {
  return Refuse("presign", key);
}

Result<std::vector<UnfinishedUpload>> WebStore::ListUploads(const std::string& prefix, CancelFlag) {
  return Refuse("list uploads of", prefix);
}

Status WebStore::AbortUpload(const std::string& key, const std::string&, CancelFlag) {
  return Refuse("abort an upload of", key);
}

}  // namespace assay::storage
