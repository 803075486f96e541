#include "storage/decorator/intercepting_store.h"

#include <algorithm>
#include <type_traits>

#include "storage/store_checks.h"

namespace assay::storage {
namespace {

const Status& StatusOf(const Status& status) {
  return status;
}
template <typename T>
const Status& StatusOf(const Result<T>& result) {
  return result.status();
}

int64_t PieceBytes(std::span<const ReadPiece> pieces) {
  int64_t bytes = 0;
  for (const ReadPiece& piece : pieces) {
    bytes += static_cast<int64_t>(piece.memory.size());
  }
  return bytes;
}

}  // namespace

template <typename Call>
auto InterceptingStore::Intercept(StoreOperation& operation, const Call& call) -> decltype(call()) {
  if (Status before = Before(operation); !before.ok()) {
    return After(operation, std::move(before));
  }
  auto result = call();
  Status after = After(operation, StatusOf(result));
  if (after.ok() == StatusOf(result).ok() && after.ok()) {
    return result;
  }
  return after;
}

template <typename Call>
std::vector<Status> InterceptingStore::InterceptMany(StoreOperation& operation, size_t count, const Call& call) {
  std::vector<Status> statuses;
  operation.count = static_cast<int64_t>(count);
  const Status all = Intercept(operation, [&] {
    statuses = call();
    const auto failed = std::find_if(statuses.begin(), statuses.end(), [](const Status& one) { return !one.ok(); });
    return failed == statuses.end() ? Status::Ok() : *failed;
  });
  // An error that did not come from the store is everybody's.
  const bool from_store =
      std::any_of(statuses.begin(), statuses.end(), [&](const Status& one) { return one.message() == all.message(); });
  return all.ok() || from_store ? statuses : std::vector<Status>(count, all);
}

// Counts the bytes of a stream; its end is an operation of its own.
class InterceptingStore::Writer final : public ObjectWriter {
 public:
  Writer(InterceptingStore& store, std::string key, std::unique_ptr<ObjectWriter> inner)
      : store_(store), key_(std::move(key)), inner_(std::move(inner)) {}
  ~Writer() override { Abort(); }

  Status Write(Bytes bytes) override {
    bytes_ += static_cast<int64_t>(bytes.size());
    return inner_->Write(bytes);
  }

  Result<ObjectInfo> Commit() override {
    ended_ = true;
    StoreOperation operation = {.name = "commit", .key = key_, .bytes = bytes_, .writes = true};
    return store_.Intercept(operation, [&] { return inner_->Commit(); });
  }

  void Abort() override {
    if (!ended_) {
      ended_ = true;
      StoreOperation operation = {.name = "abort", .key = key_};
      // Giving up cannot fail for the caller.
      [[maybe_unused]] const Status status = store_.Intercept(operation, [&] {
        inner_->Abort();
        return Status::Ok();
      });
    }
  }

 private:
  InterceptingStore& store_;
  const std::string key_;
  const std::unique_ptr<ObjectWriter> inner_;
  int64_t bytes_ = 0;
  bool ended_ = false;
};

Result<std::optional<ObjectInfo>> InterceptingStore::Stat(const std::string& key, CancelFlag cancel) {
  StoreOperation operation = {.name = "stat", .key = key};
  return Intercept(operation, [&] { return inner().Stat(key, cancel); });
}

Result<ObjectInfo> InterceptingStore::Read(const std::string& key, std::span<const ReadPiece> pieces,
                                           const ReadOptions& options) {
  StoreOperation operation = {.name = "read",
                              .key = key,
                              .count = static_cast<int64_t>(pieces.size()),
                              .bytes = PieceBytes(pieces),
                              .reads = true,
                              .pieces = pieces};
  return Intercept(operation, [&] { return inner().Read(key, pieces, options); });
}

Result<ObjectInfo> InterceptingStore::ReadWhole(const std::string& key,
                                                const std::function<MutableBytes(int64_t size)>& allocate,
                                                const ReadOptions& options) {
  ReadPiece whole;
  StoreOperation operation = {.name = "read_whole", .key = key, .reads = true};
  return Intercept(operation, [&] {
    return inner().ReadWhole(
        key,
        [&](int64_t size) {
          whole.memory = allocate(size);
          operation.bytes = size;
          operation.pieces = std::span(&whole, 1);
          return whole.memory;
        },
        options);
  });
}

std::vector<Status> InterceptingStore::ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) {
  std::vector<ReadPiece> pieces;
  for (const ObjectRead& read : reads) {
    pieces.push_back(read.piece);
  }
  StoreOperation operation = {.name = "read_many",
                              .key = reads.empty() ? "" : std::string_view(reads.front().key),
                              .bytes = PieceBytes(pieces),
                              .reads = true,
                              .pieces = pieces};
  return InterceptMany(operation, reads.size(), [&] { return inner().ReadMany(reads, options); });
}

Result<ObjectInfo> InterceptingStore::Write(const std::string& key, std::span<const Bytes> buffers,
                                            const WriteOptions& options) {
  StoreOperation operation = {.name = "write", .key = key, .bytes = TotalBytes(buffers), .writes = true};
  return Intercept(operation, [&] { return inner().Write(key, buffers, options); });
}

Result<std::unique_ptr<ObjectWriter>> InterceptingStore::OpenWriter(const std::string& key,
                                                                    const WriteOptions& options) {
  StoreOperation operation = {.name = "open_writer", .key = key};
  auto writer = Intercept(operation, [&] { return inner().OpenWriter(key, options); });
  if (!writer.ok()) {
    return writer;
  }
  return std::unique_ptr<ObjectWriter>(std::make_unique<Writer>(*this, key, *std::move(writer)));
}

std::vector<Status> InterceptingStore::WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) {
  StoreOperation operation = {
      .name = "write_many", .key = writes.empty() ? "" : std::string_view(writes.front().key), .writes = true};
  for (const ObjectWrite& write : writes) {
    operation.bytes += static_cast<int64_t>(write.content.size());
  }
  return InterceptMany(operation, writes.size(), [&] { return inner().WriteMany(writes, options); });
}

Result<ListPage> InterceptingStore::List(const ListOptions& options) {
  StoreOperation operation = {.name = "list", .key = options.prefix};
  return Intercept(operation, [&] {
    auto page = inner().List(options);
    operation.count = page.ok() ? static_cast<int64_t>(page->objects.size() + page->prefixes.size()) : 0;
    return page;
  });
}

Status InterceptingStore::Remove(const std::string& key) {
  StoreOperation operation = {.name = "remove", .key = key};
  return Intercept(operation, [&] { return inner().Remove(key); });
}

std::vector<Status> InterceptingStore::RemoveMany(std::span<const std::string> keys, CancelFlag cancel) {
  StoreOperation operation = {.name = "remove_many", .key = keys.empty() ? "" : std::string_view(keys.front())};
  return InterceptMany(operation, keys.size(), [&] { return inner().RemoveMany(keys, cancel); });
}

Result<ObjectInfo> InterceptingStore::Copy(const std::string& from, const std::string& to,
                                           const WriteOptions& options) {
  StoreOperation operation = {.name = "copy", .key = to, .from = from};
  return Intercept(operation, [&] { return inner().Copy(from, to, options); });
}

Result<std::optional<ObjectInfo>> InterceptingStore::CopyFrom(ObjectStore& source, const std::string& from,
                                                              const std::string& to, const WriteOptions& options) {
  if (!SharesService(inner(), source)) {
    return std::optional<ObjectInfo>();
  }
  StoreOperation operation = {.name = "copy", .key = to, .from = from};
  return Intercept(operation, [&] { return inner().CopyFrom(source, from, to, options); });
}

Result<ObjectInfo> InterceptingStore::Compose(std::span<const std::string> from, const std::string& to,
                                              const WriteOptions& options) {
  StoreOperation operation = {.name = "compose",
                              .key = to,
                              .from = from.empty() ? "" : std::string_view(from.front()),
                              .count = static_cast<int64_t>(from.size())};
  return Intercept(operation, [&] { return inner().Compose(from, to, options); });
}

Result<std::string> InterceptingStore::Presign(const std::string& key, std::string_view method, int64_t seconds,
                                               CancelFlag cancel) {
  StoreOperation operation = {.name = "presign", .key = key};
  return Intercept(operation, [&] { return inner().Presign(key, method, seconds, cancel); });
}

Result<std::vector<UnfinishedUpload>> InterceptingStore::ListUploads(const std::string& prefix, CancelFlag cancel) {
  StoreOperation operation = {.name = "list_uploads", .key = prefix};
  return Intercept(operation, [&] { return inner().ListUploads(prefix, cancel); });
}

Status InterceptingStore::AbortUpload(const std::string& key, const std::string& upload_id, CancelFlag cancel) {
  StoreOperation operation = {.name = "abort_upload", .key = key};
  return Intercept(operation, [&] { return inner().AbortUpload(key, upload_id, cancel); });
}

bool InterceptingStore::GiveUpUpload(const std::string& key, const std::string& upload_id) {
  StoreOperation operation = {.name = "abort_upload", .key = key};
  bool gone = false;
  const Status told = Intercept(operation, [&] {
    gone = inner().GiveUpUpload(key, upload_id);
    return Status::Ok();
  });
  return told.ok() && gone;
}

}  // namespace assay::storage
