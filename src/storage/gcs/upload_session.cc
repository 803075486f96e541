#include "storage/gcs/upload_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "storage/gcs/gcs_json.h"
#include "storage/gcs/session_chunk.h"
#include "storage/store_checks.h"
#include "storage/transfer/buffer_walk.h"
#include "storage/transfer/call_group.h"
#include "storage/transfer/multipart_upload.h"
#include "storage/transfer/publish.h"
#include "storage/transfer/single_call.h"

namespace assay::storage {
namespace {

constexpr int64_t kDefaultChunkBytes = 16 << 20;
constexpr char kWriteVerb[] = "write";

/// Whether a session has ended: not known, expired, or cancelled.
bool IsGone(int http_status) {
  return http_status == 404 || http_status == 410 || http_status == 499;
}

uint32_t AppendCrc32c(uint32_t crc, std::span<const Bytes> pieces) {
  for (const Bytes& piece : pieces) {
    crc = Crc32c(crc, piece);
  }
  return crc;
}

}  // namespace

int64_t SessionChunkBytes(const StoreOptions& options) {
  const int64_t wanted =
      std::min(options.part_bytes > 0 ? options.part_bytes : kDefaultChunkBytes, options.memory_budget_bytes);
  return std::max<int64_t>(1, wanted / kResumableMultipleBytes) * kResumableMultipleBytes;
}

bool IsSessionOf(std::string_view endpoint, std::string_view address) {
  return address.starts_with("https://") || (address.starts_with("http://") && endpoint.starts_with("http://"));
}

UploadSession::UploadSession(const CallContext& context, const GcsDialect& dialect, std::string key,
                             const WriteOptions& options)
    : context_(context),
      dialect_(dialect),
      key_(std::move(key)),
      options_(options),
      deadline_(DeadlineOf(*context.options)) {}

UploadSession::~UploadSession() {
  if (!session_.empty() && !keep_) {
    RunHere(Abort());
  }
}

std::string UploadSession::Terms() const {
  return fmt::format("session of {} {} {} {}", dialect_.urls().endpoint(), static_cast<int>(options_.condition.kind),
                     options_.condition.etag, UploadTerms(context_, options_));
}

void UploadSession::TakeToken() {
  const bool again = options_.resume != nullptr && options_.resume->terms == Terms();
  token_ = again ? options_.resume->write_token : options_.write_token;
  if (token_.empty() && options_.condition.kind != WriteCondition::Kind::kNone) {
    token_ = TokenOf(options_);
  }
}

Task<Status> UploadSession::Begin() {
  TakeToken();
  if (options_.resume != nullptr && options_.resume->terms == Terms()) {
    const Status again = co_await BeginAgain();
    // One that could not be asked for may stand as it was left.
    keep_ = !again.ok() && again.code() != ErrorCode::kAborted;
    ASSAY_CO_RETURN_IF_ERROR(again);
  }
  if (session_.empty()) {
    ASSAY_CO_RETURN_IF_ERROR(co_await BeginNew());
  }
  co_return Status::Ok();
}

Task<void> UploadSession::TellJournal(int64_t chunk_bytes) const {
  if (options_.journal != nullptr) {
    ResumableUpload upload{session_, token_, chunk_bytes, {}, Terms()};
    if (sent_ > 0) {
      upload.parts.push_back({.number = 1, .bytes = sent_});
    }
    options_.journal->OnBegin(upload);
  }
  co_await GiveUpEarlier(context_, key_, options_);
}

Outgoing UploadSession::Request(const char* method) const {
  Outgoing outgoing;
  outgoing.request.method = method;
  outgoing.request.url = session_;
  outgoing.is_signed = false;
  return outgoing;
}

Task<Status> UploadSession::BeginAgain() {
  session_ = options_.resume->upload_id;
  std::optional<ObjectInfo> made;
  const auto make = [this] {
    Outgoing outgoing = Request("PUT");
    outgoing.request.headers.Add("Content-Range", "bytes */*");
    return outgoing;
  };
  const auto take = [&](http::Response& answer) -> std::optional<Failure> {
    if (answer.status == kResumeIncomplete) {
      sent_ = CommittedOf(answer);
      return std::nullopt;
    }
    made = ParseGcsObject(key_, answer.body);
    return made ? std::nullopt : std::optional(UnreadableAnswer(answer));
  };
  auto ask = std::make_unique<FunctionCall>(kWriteVerb, key_, make, take);
  ask->set_is_answer([](int http_status) { return http_status == kResumeIncomplete || http_status / 100 == 2; });
  const CallResult asked =
      co_await SendOne(context_, std::move(ask), {.cancel = options_.cancel, .deadline = deadline_});
  if (made) {
    ASSAY_CO_ASSIGN_OR_RETURN(const bool stands, co_await Stands(*made));
    session_ = stands ? session_ : std::string();
    completed_ = stands ? std::move(made) : std::nullopt;
    sent_ = stands ? completed_->size : 0;
    co_return Status::Ok();
  }
  // One that may not be asked about ends by itself; what is written now needs another.
  if (asked.failure && (IsGone(asked.failure->http_status) || IsRefusal(*asked.failure))) {
    session_.clear();
    co_return Status::Ok();
  }
  co_return asked.status;
}

Task<Result<bool>> UploadSession::Stands(const ObjectInfo& object) const {
  const Result<std::optional<ObjectInfo>> standing = co_await StatObject(context_, key_, options_.cancel);
  if (!standing.ok() && standing.status().code() != ErrorCode::kPermissionDenied) {
    co_return standing.status();
  }
  co_return standing.ok() && *standing && (*standing)->etag == object.etag;
}

Task<Status> UploadSession::BeginNew() {
  const auto make = [this] { return dialect_.BeginResumable(key_, options_, token_); };
  const auto take = [this](http::Response& answer) -> std::optional<Failure> {
    std::string address(answer.headers.Find("location").value_or(""));
    if (!IsSessionOf(dialect_.urls().endpoint(), address)) {
      return UnreadableAnswer(answer);
    }
    session_ = std::move(address);
    return std::nullopt;
  };
  // One whose address was never heard could not be cancelled.
  const CallResult result = co_await SendOne(
      context_, "begin the upload of", key_, make, take,
      {.cancel = options_.cancel, .deadline = deadline_, .linger_seconds = context_.options->give_up_seconds});
  if (!result.status.ok()) {
    Publication sent;
    sent.key = key_;
    sent.token = token_;
    ASSAY_CO_ASSIGN_OR_RETURN(completed_, co_await SettlePublish(context_, std::move(sent), result));
    sent_ = completed_->size;
  }
  co_return Status::Ok();
}

Task<Status> UploadSession::Append(Pieces chunk) {
  const Result<std::optional<ObjectInfo>> sent = co_await Send(std::move(chunk), false);
  co_return Fail(sent.status());
}

Status UploadSession::Fail(Status status) {
  keep_ = KeepsUpload(options_, status, failure_);
  return status;
}

Checksum UploadSession::ChecksumWith(std::span<const Bytes> rest) const {
  return MakeCrc32c(AppendCrc32c(crc32c_, rest));
}

Task<Result<ObjectInfo>> UploadSession::Finish(Pieces rest) {
  Result<std::optional<ObjectInfo>> object = co_await Send(std::move(rest), true);
  if (!object.ok()) {
    co_return co_await OursOr(Fail(object.status()));
  }
  session_.clear();
  failure_ = ComparePublished(MakeCrc32c(crc32c_), (*object)->checksum);
  if (failure_) {
    if (options_.journal != nullptr) {
      options_.journal->OnGone();  // whatever stands, nobody can go on with it
    }
    co_return co_await OursOr(Status::Io(failure_->message));
  }
  co_return **std::move(object);
}

Task<Result<std::optional<ObjectInfo>>> UploadSession::Send(Pieces pieces, bool last) {
  SessionChunk chunk;
  chunk.begin = given_;
  chunk.end = given_ + TotalBytes(pieces);
  chunk.last = last;
  given_ = chunk.end;
  crc32c_ = AppendCrc32c(crc32c_, pieces);
  if (options_.progress && sent_ > chunk.begin) {
    options_.progress(std::min(sent_, chunk.end) - chunk.begin);
  }
  const bool beyond = completed_ && chunk.end > completed_->size;
  if (beyond || (last && (completed_ || sent_ > chunk.end))) {
    ASSAY_CO_ASSIGN_OR_RETURN(ObjectInfo object, TakeCompleted());
    co_return std::optional(std::move(object));
  }
  if (sent_ >= chunk.end && !last) {
    co_return std::optional<ObjectInfo>();
  }
  chunk.url = session_;
  chunk.pieces = std::move(pieces);
  chunk.whole = MakeCrc32c(crc32c_);
  chunk.sent = sent_;
  CallGroup::Limits limits;
  limits.cancel = options_.cancel;
  limits.deadline = deadline_;
  limits.priority = options_.priority;
  CallResult result;
  CallGroup calls(context_, limits);
  calls.Add(std::make_unique<SessionChunkCall>(key_, chunk, options_.progress, result));
  [[maybe_unused]] const Status all = co_await calls.UntilDone();
  failure_ = result.failure;
  sent_ = chunk.sent;
  ASSAY_CO_RETURN_IF_ERROR(result.status);
  if (chunk.object) {
    co_return co_await TakeObject(*chunk.object, chunk.end, last);
  }
  co_return std::optional<ObjectInfo>();
}

Task<Result<std::optional<ObjectInfo>>> UploadSession::TakeObject(const ObjectInfo& object, int64_t end, bool last) {
  if (!last || object.size != end) {
    failure_ = MakeFailure(FailureClass::kDamaged, ErrorCode::kIo,
                           fmt::format("{} bytes were sent{}, the store says that it has made an object of {}", end,
                                       last ? "" : " and more were to come", object.size));
    const Result<ObjectInfo> ours = co_await OursOr(Status::Io(failure_->message));
    co_return ours.status();
  }
  if (options_.progress) {
    options_.progress(end - sent_);
  }
  co_return std::optional(object);
}

Result<ObjectInfo> UploadSession::TakeCompleted() const {
  if (completed_ && completed_->size == given_ &&
      completed_->checksum.value_or(MakeCrc32c(crc32c_)) == MakeCrc32c(crc32c_)) {
    return *completed_;
  }
  return Status::FailedPrecondition(fmt::format(
      "cannot write {}: the upload to be gone on with has {} bytes, and is of other content (write it again)",
      dialect_.Uri(key_), sent_));
}

Task<Result<ObjectInfo>> UploadSession::OursOr(Status status) const {
  Publication sent;
  sent.key = key_;
  sent.token = token_;
  sent.bytes = given_;
  sent.checksum = [this] { return MakeCrc32c(crc32c_); };
  CallResult result;
  result.status = std::move(status);
  result.failure = failure_;
  co_return co_await SettlePublish(context_, std::move(sent), std::move(result));
}

Task<void> UploadSession::Abort() {
  if (session_.empty() || keep_) {
    co_return;
  }
  int http_status = 0;
  auto cancel = std::make_unique<FunctionCall>(
      "give up the upload of", key_, [this] { return Request("DELETE"); },
      [&http_status](http::Response& answer) -> std::optional<Failure> {
        http_status = answer.status;
        return std::nullopt;
      });
  // Best effort: a session that stays ends by itself after a week, and holds nothing that is visible or billed.
  cancel->set_is_answer([](int) { return true; });
  const double deadline = MonotonicSeconds() + context_.options->give_up_seconds;
  co_await SendOne(context_, std::move(cancel), {.deadline = deadline});
  session_.clear();
  if (options_.journal != nullptr && (http_status / 100 == 2 || IsGone(http_status))) {
    options_.journal->OnGone();
  }
}

namespace {

/// What is begun and not finished is the caller's to abort.
Task<Result<ObjectInfo>> SendInChunks(UploadSession& session, BufferWalk& walk, int64_t total, int64_t chunk_bytes,
                                      std::string uri, const WriteOptions& options) {
  if (IsCancelled(options.cancel)) {
    co_return CancelledStatus(kWriteVerb, uri);
  }
  ASSAY_CO_RETURN_IF_ERROR(co_await session.Begin());
  co_await session.TellJournal(chunk_bytes);
  // Something always stays for the last chunk, which alone may be of any length.
  for (int64_t rest = total; rest > chunk_bytes; rest -= chunk_bytes) {
    // Of chunks that the service has from an earlier try, nothing but their sums is made.
    if (IsCancelled(options.cancel)) {
      co_return CancelledStatus(kWriteVerb, uri);
    }
    ASSAY_CO_RETURN_IF_ERROR(co_await session.Append(walk.Next(chunk_bytes)));
    if (options.journal != nullptr) {
      ASSAY_CO_RETURN_IF_ERROR(options.journal->BeforePartEnds());
    }
  }
  Pieces rest = walk.Next(chunk_bytes);
  if (options.expected && options.expected->kind == ChecksumKind::kCrc32c) {
    const Checksum found = session.ChecksumWith(rest);
    if (found != *options.expected) {
      co_return ChecksumMismatchStatus(kWriteVerb, uri, *options.expected, found);
    }
  }
  if (options.journal != nullptr) {
    ASSAY_CO_RETURN_IF_ERROR(options.journal->BeforePublish());
  }
  co_return co_await session.Finish(std::move(rest));
}

}  // namespace

Task<Result<ObjectInfo>> WriteInSession(const CallContext& context, const GcsDialect& dialect, std::string key,
                                        std::span<const Bytes> buffers, const WriteOptions& options) {
  const int64_t chunk_bytes = SessionChunkBytes(*context.options);
  const int64_t total = TotalBytes(buffers);
  const std::string uri = dialect.Uri(key);
  BufferWalk walk(buffers);
  if (total <= chunk_bytes) {
    co_return co_await PutWhole(context, key, walk.Next(total), options);
  }
  if (options.expected && options.expected->kind != ChecksumKind::kCrc32c) {
    ASSAY_CO_RETURN_IF_ERROR(CheckExpected(options, buffers, uri));
  }
  UploadSession session(context, dialect, key, options);
  Result<ObjectInfo> written = co_await SendInChunks(session, walk, total, chunk_bytes, uri, options);
  co_await session.Abort();
  co_return written;
}

}  // namespace assay::storage
