#include "storage/transfer/remote_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.h"
#include "storage/store_checks.h"
#include "storage/transfer/many_reader.h"
#include "storage/transfer/range_reader.h"
#include "storage/transfer/single_call.h"

namespace assay::storage {
namespace {

http::ClientOptions ClientOptionsOf(const StoreOptions& options) {
  http::ClientOptions client;
  // A few more than parts travel at a time: second copies of slow ones, and small requests between large ones.
  client.max_connections = ConnectionsOf(options) + CallEngine::kSingleConnections;
  client.io_threads = options.io_threads;
  client.carrier = options.libcurl ? http::Carrier::kLibcurl : http::Carrier::kDirect;
  client.connect_timeout_seconds = options.connect_timeout_seconds;
  client.stall_timeout_seconds = std::ceil(options.stall_timeout_seconds);
  client.verify_tls = options.verify_tls;
  client.ca_file = options.ca_file;
  client.proxy = options.proxy;
  client.bandwidth_bytes_per_s = options.bandwidth_bytes_per_s;
  return client;
}

}  // namespace

RemoteReader::RemoteReader(std::unique_ptr<ReadDialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options)
    : options_(std::move(options)),
      dialect_(std::move(dialect)),
      signer_(std::move(signer)),
      memory_(options_.memory_budget_bytes, options_.buffers),
      client_(ClientOptionsOf(options_)),
      engine_(ConnectionsOf(options_), *signer_),
      context_{.client = &client_,
               .engine = &engine_,
               .signer = signer_.get(),
               .dialect = dialect_.get(),
               .options = &options_,
               .memory = &memory_,
               .budget = &budget_,
               .latencies = &latencies_,
               .observer = options_.observer.get()} {}

RemoteReader::~RemoteReader() = default;

std::string RemoteReader::Uri(std::string_view key) const {
  return dialect_->Uri(key);
}

Capabilities RemoteReader::capabilities() const {
  return dialect_->traits().capabilities;
}

Result<std::optional<ObjectInfo>> RemoteReader::Stat(const std::string& key, CancelFlag cancel) {
  ASSAY_RETURN_IF_ERROR(dialect_->CheckKey(key));
  return RunHere(StatAsync(key, cancel));
}

Task<Result<std::optional<ObjectInfo>>> RemoteReader::StatAsync(const std::string& key, CancelFlag cancel) {
  return StatObject(context_, key, cancel);
}

Status RemoteReader::ExplainAbsence(const std::string& key, CancelFlag cancel) {
  const CallResult result =
      RunOne(context_, "stat", key, [&] { return dialect_->Get(key, 0, 1, ""); }, nullptr, cancel);
  return result.failure && result.failure->kind == FailureClass::kMissing ? Status::Ok() : result.status;
}

Task<Result<ObjectInfo>> RemoteReader::ReadAsync(const std::string& key, std::span<const ReadPiece> pieces,
                                                 const ReadOptions& options) {
  ASSAY_CO_RETURN_IF_ERROR(dialect_->CheckKey(key));
  if (std::any_of(pieces.begin(), pieces.end(), [](const ReadPiece& piece) { return !piece.memory.empty(); })) {
    RangeReader reader(context_, key, options);
    co_return co_await reader.ReadPieces(pieces);
  }
  ASSAY_CO_ASSIGN_OR_RETURN(std::optional<ObjectInfo> info, co_await StatAsync(key, options.cancel));
  if (!info) {
    co_return MissingObjectStatus("read", Uri(key));
  }
  ASSAY_CO_RETURN_IF_ERROR(CheckPieces(pieces, info->size, Uri(key)));
  co_return *std::move(info);
}

Task<Result<ObjectInfo>> RemoteReader::ReadWholeAsync(const std::string& key,
                                                      const std::function<MutableBytes(int64_t size)>& allocate,
                                                      const ReadOptions& options) {
  ASSAY_CO_RETURN_IF_ERROR(dialect_->CheckKey(key));
  RangeReader reader(context_, key, options);
  Result<ObjectInfo> result = co_await reader.ReadWhole(allocate);
  if (result.ok() || result.status().code() != ErrorCode::kInvalidArgument) {
    co_return result;
  }
  // Stores refuse any range of an empty object.
  ASSAY_CO_ASSIGN_OR_RETURN(std::optional<ObjectInfo> info, co_await StatAsync(key, options.cancel));
  if (!info || info->size != 0) {
    co_return result;
  }
  allocate(0);
  co_return *std::move(info);
}

void RemoteReader::ForEach(const std::vector<size_t>& objects, const std::function<void(size_t)>& work) const {
  // Each thread waits for one object, whose parts the store's thread sends; that has a part on its way at the least.
  ParallelFor(static_cast<int64_t>(objects.size()), ConnectionsOf(options_),
              [&](int64_t i) { work(objects[static_cast<size_t>(i)]); });
}

std::vector<Status> RemoteReader::ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) {
  std::vector<Status> statuses(reads.size());
  const std::vector<size_t> left = ReadSmall(context_, reads, PlanDownload(0, options_).part_bytes, options, statuses);
  ForEach(left, [&](size_t i) {
    const ObjectRead& read = reads[i];
    statuses[i] = Read(read.key, std::span(&read.piece, 1), read.OptionsOr(options)).status();
  });
  return statuses;
}

}  // namespace assay::storage
