#include "storage/transfer/remote_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "storage/list_checks.h"
#include "storage/store_checks.h"
#include "storage/transfer/call_group.h"
#include "storage/transfer/single_call.h"
#include "storage/transfer/stream_writer.h"
#include "storage/transfer/upload.h"

namespace assay::storage {
namespace {

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
    : RemoteReader(std::move(dialect), std::move(signer), std::move(options)) {
  context().writing = static_cast<const Dialect*>(context().dialect);
}

Result<http::Response> RemoteStore::Call(std::string_view operation, const std::string& key,
                                         const std::function<Outgoing()>& make, CancelFlag cancel) {
  http::Response answer;
  const CallResult result = RunOne(
      context(), std::string(operation), key, make,
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

Task<Result<ObjectInfo>> RemoteStore::WriteAsync(const std::string& key, std::span<const Bytes> buffers,
                                                 const WriteOptions& options) {
  ASSAY_CO_RETURN_IF_ERROR(CheckWrite(key, options, Uri(key)));
  co_return co_await WriteBuffers(context(), key, buffers, options);
}

Result<std::unique_ptr<ObjectWriter>> RemoteStore::OpenWriter(const std::string& key, const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckWrite(key, options, Uri(key)));
  return std::unique_ptr<ObjectWriter>(std::make_unique<StreamWriter>(context(), key, options, MaySend(key, options)));
}

Result<std::unique_ptr<PartWriter>> RemoteStore::OpenParts(const std::string& key, const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckWrite(key, options, Uri(key)));
  if (options.expected && options.expected->kind != dialect().traits().checksum) {
    return Status::Unsupported(
        fmt::format("cannot write {} in parts: they give no {} of the whole (expect its {}, or write it as a stream)",
                    Uri(key), NameOf(options.expected->kind), NameOf(dialect().traits().checksum)));
  }
  if (!TakesPartsOf(key, options)) {
    return Status::Unsupported(
        fmt::format("cannot write {} in parts: the store takes it only in order (write it as a stream)", Uri(key)));
  }
  return std::unique_ptr<PartWriter>(
      std::make_unique<RemotePartWriter>(context(), key, options, MaySend(key, options)));
}

std::vector<Status> RemoteStore::WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) {
  std::vector<Status> statuses(writes.size());
  const int64_t part_bytes = PlanDownload(0, this->options()).part_bytes;
  std::vector<std::unique_ptr<WholePut>> puts(writes.size());
  CallGroup calls(context(), {.in_flight = ConnectionsOf(this->options()),
                              .cancel = options.cancel,
                              .stop_at_failure = false,
                              .priority = options.priority});
  for (size_t i = 0; i < writes.size(); ++i) {
    const std::string uri = Uri(writes[i].key);
    const WriteOptions& own = writes[i].OptionsOr(options);
    const bool small = static_cast<int64_t>(writes[i].content.size()) <= part_bytes;
    statuses[i] = CheckWrite(writes[i].key, own, uri);
    if (small && statuses[i].ok()) {
      statuses[i] = CheckBeforePut(own, std::span(&writes[i].content, 1), uri);
    }
    if (small && statuses[i].ok()) {
      puts[i] = std::make_unique<WholePut>(context(), writes[i].key, Pieces{writes[i].content}, own);
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
      context(), "list", options.prefix, [&] { return dialect().List(options); },
      [&](http::Response& response) {
        Dialect::Read<ListPage> read = dialect().ReadList(response);
        Status status = read.failure ? Status::Ok() : CheckListPage(options, read.value);
        if (!read.failure && status.ok() && dialect().traits().page_tokens_are_keys) {
          status = CheckNextKey(options, read.value);
        }
        if (!status.ok()) {
          read.failure = UnreadableAnswer(response, status);
        }
        page = std::move(read.value);
        return read.failure;
      },
      options.cancel);
  ASSAY_RETURN_IF_ERROR(result.status);
  CutAt(options.end_before, page);
  return page;
}

Status RemoteStore::Remove(const std::string& key) {
  return RemoveMany(std::span(&key, 1)).front();
}

std::vector<Status> RemoteStore::RemoveMany(std::span<const std::string> keys, CancelFlag cancel) {
  std::vector<Status> statuses(keys.size());
  CallGroup calls(context(), {.in_flight = ConnectionsOf(this->options()), .cancel = cancel, .stop_at_failure = false});
  for (size_t i = 0; i < keys.size(); ++i) {
    statuses[i] = CheckKey(keys[i], Uri(keys[i]));
    if (!statuses[i].ok()) {
      continue;
    }
    calls.Add(std::make_unique<FunctionCall>(
        "remove", keys[i], [&, i] { return dialect().Remove(keys[i]); }, nullptr,
        [&, i](const CallResult& result) {
          const bool absent = result.failure && result.failure->kind == FailureClass::kMissing;
          statuses[i] = absent ? Status::Ok() : result.status;
        }));
  }
  // Each call has told its own end, also when all were given up.
  [[maybe_unused]] const Status all = calls.WaitAll();
  return statuses;
}

Status RemoteStore::MakeBucket(CancelFlag cancel) {
  ASSAY_RETURN_IF_ERROR(dialect().MakeBucket().status());
  return Call("make", "", [this] { return *dialect().MakeBucket(); }, cancel).status();
}

Status RemoteStore::RemoveBucket(CancelFlag cancel) {
  return Call("remove", "", [this] { return dialect().RemoveBucket(); }, cancel).status();
}

Status RemoteStore::AbortUpload(const std::string& key, const std::string& upload_id, CancelFlag cancel) {
  return Call("abort the upload of", key, [&] { return dialect().AbortUpload(key, upload_id); }, cancel).status();
}

bool RemoteStore::GiveUpUpload(const std::string& key, const std::string& upload_id) {
  return RunHere(GiveUpParts(context(), key, upload_id));
}

}  // namespace assay::storage
