#include "storage/transfer/remote_store.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/parallel.h"
#include "storage/list_checks.h"
#include "storage/store_checks.h"
#include "storage/transfer/call_group.h"
#include "storage/transfer/many_reader.h"
#include "storage/transfer/range_reader.h"
#include "storage/transfer/single_call.h"
#include "storage/transfer/stream_writer.h"
#include "storage/transfer/upload.h"

namespace assay::storage {
namespace {

http::ClientOptions ClientOptionsOf(const StoreOptions& options) {
  http::ClientOptions client;
  // A few more than parts travel at a time: second copies of slow ones, and small requests between large ones.
  client.max_connections = ConnectionsOf(options) + CallEngine::kSingleConnections;
  client.connect_timeout_seconds = options.connect_timeout_seconds;
  client.stall_timeout_seconds = std::ceil(options.stall_timeout_seconds);
  client.verify_tls = options.verify_tls;
  client.ca_file = options.ca_file;
  client.proxy = options.proxy;
  client.bandwidth_bytes_per_s = options.bandwidth_bytes_per_s;
  return client;
}

/// Leaves only what lies before `end`; nothing behind it is listed.
void CutAt(const std::string& end, ListPage& page) {
  if (end.empty()) {
    return;
  }
  const size_t objects = std::erase_if(page.objects, [&end](const ObjectInfo& info) { return info.key >= end; });
  const size_t prefixes = std::erase_if(page.prefixes, [&end](const std::string& prefix) { return prefix >= end; });
  if (objects + prefixes > 0) {
    page.next_page_token.clear();
  }
}

}  // namespace

RemoteStore::RemoteStore(std::unique_ptr<Dialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options)
    : options_(std::move(options)),
      dialect_(std::move(dialect)),
      signer_(std::move(signer)),
      memory_(options_.memory_budget_bytes),
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

RemoteStore::~RemoteStore() = default;

std::string RemoteStore::Uri(std::string_view key) const {
  return dialect_->Uri(key);
}

Capabilities RemoteStore::capabilities() const {
  return dialect_->traits().capabilities;
}

Result<http::Response> RemoteStore::Call(std::string_view operation, const std::string& key,
                                         const std::function<Outgoing()>& make, CancelFlag cancel) {
  http::Response answer;
  const CallResult result = RunOne(
      context_, std::string(operation), key, make,
      [&answer](http::Response& response) -> std::optional<Failure> {
        answer = std::move(response);
        return std::nullopt;
      },
      cancel);
  ASSAY_RETURN_IF_ERROR(result.status);
  return answer;
}

Result<std::string> RemoteStore::PresignUrl(const std::string& key, std::string url, std::string_view method,
                                            int64_t seconds) {
  ASSAY_RETURN_IF_ERROR(CheckKey(key, Uri(key)));
  ASSAY_RETURN_IF_ERROR(signer().Prepare().WithContext("cannot presign " + Uri(key)));
  http::Request request;
  request.method = method;
  request.url = std::move(url);
  return signer().Presign(request, seconds);
}

Result<std::optional<ObjectInfo>> RemoteStore::Stat(const std::string& key) {
  ASSAY_RETURN_IF_ERROR(CheckKey(key, Uri(key)));
  return RunHere(StatObject(context_, key));
}

Status RemoteStore::ExplainAbsence(const std::string& key) {
  const CallResult result = RunOne(context_, "stat", key, [&] { return dialect_->Get(key, 0, 1, ""); });
  return result.failure && result.failure->kind == FailureClass::kMissing ? Status::Ok() : result.status;
}

Task<Result<ObjectInfo>> RemoteStore::ReadAsync(const std::string& key, std::span<const ReadPiece> pieces,
                                                const ReadOptions& options) {
  ASSAY_CO_RETURN_IF_ERROR(CheckKey(key, Uri(key)));
  if (std::any_of(pieces.begin(), pieces.end(), [](const ReadPiece& piece) { return !piece.memory.empty(); })) {
    RangeReader reader(context_, key, options);
    co_return co_await reader.ReadPieces(pieces);
  }
  ASSAY_CO_ASSIGN_OR_RETURN(std::optional<ObjectInfo> info, co_await StatObject(context_, key, options.cancel));
  if (!info) {
    co_return MissingObjectStatus("read", Uri(key));
  }
  ASSAY_CO_RETURN_IF_ERROR(CheckPieces(pieces, info->size, Uri(key)));
  co_return *std::move(info);
}

Task<Result<ObjectInfo>> RemoteStore::ReadWholeAsync(const std::string& key,
                                                     const std::function<MutableBytes(int64_t size)>& allocate,
                                                     const ReadOptions& options) {
  ASSAY_CO_RETURN_IF_ERROR(CheckKey(key, Uri(key)));
  RangeReader reader(context_, key, options);
  Result<ObjectInfo> result = co_await reader.ReadWhole(allocate);
  if (result.ok() || result.status().code() != ErrorCode::kInvalidArgument) {
    co_return result;
  }
  // Stores refuse any range of an empty object.
  ASSAY_CO_ASSIGN_OR_RETURN(std::optional<ObjectInfo> info, co_await StatObject(context_, key, options.cancel));
  if (!info || info->size != 0) {
    co_return result;
  }
  allocate(0);
  co_return *std::move(info);
}

void RemoteStore::ForEach(const std::vector<size_t>& objects, const std::function<void(size_t)>& work) const {
  // Each thread waits for one object, whose parts the store's thread sends; that has a part on its way at the least.
  ParallelFor(static_cast<int64_t>(objects.size()), ConnectionsOf(options_),
              [&](int64_t i) { work(objects[static_cast<size_t>(i)]); });
}

std::vector<Status> RemoteStore::ReadMany(std::span<const ObjectRead> reads, const ReadOptions& options) {
  std::vector<Status> statuses(reads.size());
  const std::vector<size_t> left = ReadSmall(context_, reads, PlanDownload(0, options_).part_bytes, options, statuses);
  ForEach(left, [&](size_t i) {
    const ObjectRead& read = reads[i];
    statuses[i] = Read(read.key, std::span(&read.piece, 1), read.OptionsOr(options)).status();
  });
  return statuses;
}

Task<Result<ObjectInfo>> RemoteStore::WriteAsync(const std::string& key, std::span<const Bytes> buffers,
                                                 const WriteOptions& options) {
  ASSAY_CO_RETURN_IF_ERROR(CheckWrite(key, options, Uri(key)));
  co_return co_await WriteBuffers(context_, key, buffers, options);
}

Result<std::unique_ptr<ObjectWriter>> RemoteStore::OpenWriter(const std::string& key, const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckWrite(key, options, Uri(key)));
  return OpenStream(key, options);
}

std::unique_ptr<ObjectWriter> RemoteStore::OpenStream(const std::string& key, const WriteOptions& options,
                                                      std::function<Status(bool in_parts)> may_send) {
  return std::make_unique<StreamWriter>(context_, key, options, std::move(may_send));
}

std::vector<Status> RemoteStore::WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) {
  std::vector<Status> statuses(writes.size());
  const int64_t part_bytes = PlanDownload(0, options_).part_bytes;
  std::vector<std::unique_ptr<WholePut>> puts(writes.size());
  CallGroup calls(context_, {.in_flight = ConnectionsOf(options_),
                             .cancel = options.cancel,
                             .stop_at_failure = false,
                             .priority = options.priority});
  for (size_t i = 0; i < writes.size(); ++i) {
    const std::string uri = Uri(writes[i].key);
    const WriteOptions& own = writes[i].OptionsOr(options);
    const bool small = static_cast<int64_t>(writes[i].content.size()) <= part_bytes;
    statuses[i] = CheckWrite(writes[i].key, own, uri);
    if (small && statuses[i].ok()) {
      statuses[i] = CheckExpected(own, std::span(&writes[i].content, 1), uri);
    }
    if (small && statuses[i].ok()) {
      puts[i] = std::make_unique<WholePut>(context_, writes[i].key, Pieces{writes[i].content}, own);
      calls.Add(puts[i]->MakeCall());
    }
  }
  std::vector<size_t> large;
  for (size_t i = 0; i < writes.size(); ++i) {
    if (!puts[i] && statuses[i].ok()) {
      large.push_back(i);
    }
  }
  // Parts of large objects share the connections with the small ones.
  ForEach(large, [&](size_t i) {
    statuses[i] = Write(writes[i].key, std::span(&writes[i].content, 1), writes[i].OptionsOr(options)).status();
  });
  // Each call has told its own end, also when all were given up.
  [[maybe_unused]] const Status all = calls.WaitAll();
  std::vector<size_t> refused;
  for (size_t i = 0; i < writes.size(); ++i) {
    if (puts[i] && puts[i]->result().status.ok()) {
      statuses[i] = RunHere(puts[i]->Finish()).status();
    } else if (puts[i]) {
      refused.push_back(i);
    }
  }
  // They ask the store what stands.
  ForEach(refused, [&](size_t i) { statuses[i] = RunHere(puts[i]->Finish()).status(); });
  return statuses;
}

Result<ListPage> RemoteStore::List(const ListOptions& options) {
  ListPage page;
  const CallResult result = RunOne(
      context_, "list", options.prefix, [&] { return dialect_->List(options); },
      [&](http::Response& response) {
        Dialect::Read<ListPage> read = dialect_->ReadList(response);
        Status status = read.failure ? Status::Ok() : CheckListPage(options, read.value);
        if (!read.failure && status.ok() && dialect_->traits().page_tokens_are_keys) {
          status = CheckNextKey(options, read.value);
        }
        if (!status.ok()) {
          read.failure = UnreadableAnswer(response, status);
        }
        page = std::move(read.value);
        return read.failure;
      });
  ASSAY_RETURN_IF_ERROR(result.status);
  CutAt(options.end_before, page);
  return page;
}

Status RemoteStore::Remove(const std::string& key) {
  return RemoveMany(std::span(&key, 1)).front();
}

std::vector<Status> RemoteStore::RemoveMany(std::span<const std::string> keys) {
  std::vector<Status> statuses(keys.size());
  CallGroup calls(context_, {.in_flight = ConnectionsOf(options_), .stop_at_failure = false});
  for (size_t i = 0; i < keys.size(); ++i) {
    statuses[i] = CheckKey(keys[i], Uri(keys[i]));
    if (!statuses[i].ok()) {
      continue;
    }
    calls.Add(std::make_unique<FunctionCall>(
        "remove", keys[i], [&, i] { return dialect_->Remove(keys[i]); }, nullptr,
        [&, i](const CallResult& result) {
          const bool absent = result.failure && result.failure->kind == FailureClass::kMissing;
          statuses[i] = absent ? Status::Ok() : result.status;
        }));
  }
  // Each call has told its own end, also when all were given up.
  [[maybe_unused]] const Status all = calls.WaitAll();
  return statuses;
}

Status RemoteStore::AbortUpload(const std::string& key, const std::string& upload_id) {
  return Call("abort the upload of", key, [&] { return dialect_->AbortUpload(key, upload_id); }).status();
}

bool RemoteStore::GiveUpUpload(const std::string& key, const std::string& upload_id) {
  return RunHere(GiveUpParts(context_, key, upload_id));
}

}  // namespace assay::storage
