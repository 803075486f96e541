#include "storage/transfer/whole_put.h"

#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/call_group.h"
#include "storage/transfer/object_headers.h"
#include "storage/transfer/publish.h"
#include "storage/transfer/put_call.h"

namespace assay::storage {

WholePut::WholePut(const CallContext& context, std::string key, Pieces pieces, const WriteOptions& options)
    : context_(context),
      key_(std::move(key)),
      pieces_(std::move(pieces)),
      options_(options),
      bytes_(TotalBytes(pieces_)),
      token_(options.condition.kind == WriteCondition::Kind::kNone ? std::string() : TokenOf(options)) {}

std::unique_ptr<StoreCall> WholePut::MakeCall() {
  auto call = std::make_unique<PutCall>(
      "write", key_, pieces_, context_.dialect->traits().checksum, nullptr,
      [this](ChecksumSource& body) { return context_.writing->Put(key_, body, options_, token_); },
      [this](http::Response& response, const Checksum& sent) { return Take(response, sent); },
      [this](const CallResult& end) { result_ = end; });
  if (options_.journal != nullptr) {
    call->set_guard([journal = options_.journal] { return journal->BeforePublish(); });
  }
  return call;
}

std::optional<Failure> WholePut::Take(http::Response& response, const Checksum& sent) {
  Dialect::Read<ObjectInfo> read = context_.writing->ReadPut(key_, response);
  info_ = std::move(read.value);
  if (!read.failure) {
    read.failure = FailureWithoutEtag(info_);
  }
  if (!read.failure) {
    read.failure = ComparePublished(sent, info_.checksum);
    info_.checksum = sent;
  }
  return read.failure;
}

Task<Result<ObjectInfo>> WholePut::Finish() {
  if (!result_.status.ok()) {
    Publication sent;
    sent.key = key_;
    sent.token = token_;
    sent.bytes = bytes_;
    sent.checksum = [this] { return ChecksumSource(pieces_, context_.dialect->traits().checksum).checksum(); };
    co_return co_await SettlePublish(context_, std::move(sent), result_);
  }
  info_.key = key_;
  info_.size = bytes_;
  if (options_.progress) {
    options_.progress(bytes_);
  }
  co_return info_;
}

Status CheckBeforePut(const WriteOptions& options, std::span<const Bytes> content, std::string_view uri) {
  ASSAY_RETURN_IF_ERROR(CheckExpected(options, content, uri));
  return options.journal != nullptr && TotalBytes(content) == 0 ? options.journal->BeforePublish() : Status::Ok();
}

Task<Result<ObjectInfo>> PutWhole(const CallContext& context, std::string key, Pieces pieces,
                                  const WriteOptions& options) {
  ASSAY_CO_RETURN_IF_ERROR(CheckBeforePut(options, pieces, context.dialect->Uri(key)));
  CallGroup::Limits limits;
  limits.cancel = options.cancel;
  limits.priority = options.priority;
  WholePut put(context, std::move(key), std::move(pieces), options);
  CallGroup calls(context, limits);
  calls.Add(put.MakeCall());
  // The call has told its own end: what the store has written by the time of a cancellation is written.
  [[maybe_unused]] const Status run = co_await calls.UntilDone();
  co_return co_await put.Finish();
}

}  // namespace assay::storage
