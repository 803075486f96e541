#include "storage/gcs/upload_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <thread>
#include <utility>

#include "base/text.h"
#include "storage/gcs/gcs_failure.h"
#include "storage/gcs/gcs_json.h"
#include "storage/store_checks.h"
#include "storage/transfer/object_headers.h"
#include "storage/transfer/publish.h"
#include "storage/transfer/retry.h"
#include "storage/transfer/single_call.h"
#include "storage/transfer/upload.h"

namespace assay::storage {
namespace {

constexpr char kAskRange[] = "bytes */*";
constexpr char kOperation[] = "write";

/// "bytes 0-99/*", "bytes 0-99/100", or "bytes */100" for a last chunk without bytes.
std::string RangeOf(int64_t begin, int64_t end, bool last) {
  const std::string total = last ? std::to_string(end) : "*";
  return begin == end ? fmt::format("bytes */{}", total) : fmt::format("bytes {}-{}/{}", begin, end - 1, total);
}

/// Whether a session has ended: not known, expired, or cancelled.
bool IsGone(int http_status) {
  return http_status == 404 || http_status == 410 || http_status == 499;
}

/// Of "Range: bytes=0-99"; 0 where there is none: nothing was kept.
int64_t CommittedOf(const http::Response& answer) {
  const std::string_view range = answer.headers.Find("range").value_or("");
  const size_t dash = range.rfind('-');
  const auto last = dash == std::string_view::npos ? std::nullopt : ParseCount(range.substr(dash + 1));
  return last ? *last + (*last < std::numeric_limits<int64_t>::max() ? 1 : 0) : 0;
}

}  // namespace

bool IsSessionOf(std::string_view endpoint, std::string_view address) {
  return address.starts_with("https://") || (address.starts_with("http://") && endpoint.starts_with("http://"));
}

UploadSession::UploadSession(const CallContext& context, const GcsDialect& dialect, std::string key,
                             const WriteOptions& options)
    : context_(context),
      dialect_(dialect),
      key_(std::move(key)),
      options_(options),
      deadline_(context.options->deadline_seconds > 0 ? MonotonicSeconds() + context.options->deadline_seconds : 0) {}

UploadSession::~UploadSession() {
  Abort();
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

Status UploadSession::Begin() {
  TakeToken();
  if (options_.resume != nullptr && options_.resume->terms == Terms()) {
    const Status again = BeginAgain();
    // One that could not be asked for may stand as it was left.
    keep_ = !again.ok() && again.code() != ErrorCode::kAborted;
    ASSAY_RETURN_IF_ERROR(again);
  }
  if (session_.empty()) {
    ASSAY_RETURN_IF_ERROR(BeginNew());
  }
  return Status::Ok();
}

void UploadSession::TellJournal(int64_t chunk_bytes) const {
  if (options_.journal != nullptr) {
    ResumableUpload upload{session_, token_, chunk_bytes, {}, Terms()};
    if (sent_ > 0) {
      upload.parts.push_back({.number = 1, .bytes = sent_});
    }
    options_.journal->OnBegin(upload);
  }
  GiveUpEarlier(context_, key_, options_);
}

Status UploadSession::BeginAgain() {
  session_ = options_.resume->upload_id;
  AttemptHistory history;
  while (!IsCancelled(options_.cancel)) {
    ++history.attempts;
    Step step = Try({}, kAskRange, false, history.attempts);
    if (step.object) {
      ASSAY_ASSIGN_OR_RETURN(const bool stands, Stands(*step.object));
      session_ = stands ? session_ : std::string();
      completed_ = stands ? std::move(step.object) : std::nullopt;
      sent_ = stands ? completed_->size : 0;
      return Status::Ok();
    }
    if (!step.failure) {
      sent_ = step.committed;
      return Status::Ok();
    }
    if (IsCancelled(options_.cancel)) {
      break;
    }
    // One that may not be asked about ends by itself; what is written now needs another. The address is its own proof:
    // no fresh credentials would help.
    const bool unproven = step.failure->kind == FailureClass::kExpired;
    if (IsGone(step.failure->http_status) || IsRefusal(*step.failure) || unproven) {
      session_.clear();
      return Status::Ok();
    }
    ASSAY_RETURN_IF_ERROR(PrepareRetry(*step.failure, history));
  }
  return CancelledStatus(kOperation, dialect_.Uri(key_));
}

Result<bool> UploadSession::Stands(const ObjectInfo& object) const {
  const auto standing = StatObject(context_, key_, options_.cancel);
  if (!standing.ok() && standing.status().code() != ErrorCode::kPermissionDenied) {
    return standing.status();
  }
  return standing.ok() && *standing && (*standing)->etag == object.etag;
}

Status UploadSession::BeginNew() {
  const CallResult result = RunOne(
      context_, "begin the upload of", key_, [&] { return dialect_.BeginResumable(key_, options_, token_); },
      [&](http::Response& answer) -> std::optional<Failure> {
        std::string address(answer.headers.Find("location").value_or(""));
        if (!IsSessionOf(dialect_.urls().endpoint(), address)) {
          return UnreadableAnswer(answer);
        }
        session_ = std::move(address);
        return std::nullopt;
      },
      options_.cancel, deadline_);
  if (!result.status.ok()) {
    ASSAY_ASSIGN_OR_RETURN(completed_, SettlePublish(context_, {.key = key_, .token = token_}, result));
    sent_ = completed_->size;
  }
  return Status::Ok();
}

Status UploadSession::Append(Bytes bytes) {
  const auto sent = Send(bytes, false);
  return Fail(sent.status());
}

Status UploadSession::Fail(Status status) {
  keep_ = KeepsUpload(options_, status, failure_);
  return status;
}

Result<ObjectInfo> UploadSession::Finish(Bytes rest) {
  auto object = Send(rest, true);
  if (!object.ok()) {
    return OursOr(Fail(object.status()));
  }
  session_.clear();
  failure_ = ComparePublished(MakeCrc32c(crc32c_), (*object)->checksum);
  if (failure_) {
    if (options_.journal != nullptr) {
      options_.journal->OnGone();  // whatever stands, nobody can go on with it
    }
    return OursOr(Status::Io(failure_->message));
  }
  return **std::move(object);
}

Result<std::optional<ObjectInfo>> UploadSession::Send(Bytes bytes, bool last) {
  const int64_t begin = given_;
  const int64_t end = begin + static_cast<int64_t>(bytes.size());
  given_ = end;
  crc32c_ = Crc32c(crc32c_, bytes);
  if (options_.progress && sent_ > begin) {
    options_.progress(std::min(sent_, end) - begin);
  }
  const bool beyond = completed_ && end > completed_->size;
  if (beyond || (last && (completed_ || sent_ > end))) {
    ASSAY_ASSIGN_OR_RETURN(ObjectInfo object, TakeCompleted());
    return std::optional(std::move(object));
  }
  AttemptHistory history;
  int64_t most = sent_;
  bool ask = false;
  while (sent_ < end || last) {
    if (IsCancelled(options_.cancel)) {
      return CancelledStatus(kOperation, dialect_.Uri(key_));
    }
    ++history.attempts;
    const Step step =
        ask ? Try({}, kAskRange, false, history.attempts)
            : Try(bytes.subspan(static_cast<size_t>(sent_ - begin)), RangeOf(sent_, end, last), last, history.attempts);
    failure_ = step.failure;
    if (step.failure && IsCancelled(options_.cancel)) {
      return CancelledStatus(kOperation, dialect_.Uri(key_));
    }
    if (step.object) {
      return TakeObject(*step.object, end, last);
    }
    if (!step.failure) {
      // Beyond all that it has had: what it takes and drops in turns would have no end.
      history.attempts = step.committed > most ? 0 : history.attempts;
      most = std::max(most, step.committed);
      ask = false;
      ASSAY_RETURN_IF_ERROR(TakeCommitted(step.committed, begin, end));
    }
    // A service that takes requests and keeps nothing of them fails as well.
    const Failure failure = step.failure.value_or(
        MakeFailure(FailureClass::kServer, ErrorCode::kIo, "the store keeps none of the bytes sent"));
    if (!step.failure && history.attempts < context_.options->max_attempts) {
      continue;
    }
    ASSAY_RETURN_IF_ERROR(PrepareRetry(failure, history));
    ask = true;
  }
  return std::optional<ObjectInfo>();
}

Result<std::optional<ObjectInfo>> UploadSession::TakeObject(const ObjectInfo& object, int64_t end, bool last) {
  if (!last || object.size != end) {
    failure_ = MakeFailure(FailureClass::kDamaged, ErrorCode::kIo,
                           fmt::format("{} bytes were sent{}, the store says that it has made an object of {}", end,
                                       last ? "" : " and more were to come", object.size));
    return OursOr(Status::Io(failure_->message)).status();
  }
  if (options_.progress) {
    options_.progress(end - sent_);
  }
  return std::optional(object);
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

Status UploadSession::PrepareRetry(const Failure& failure, AttemptHistory& history) {
  history.expired += failure.kind == FailureClass::kExpired ? 1 : 0;
  const auto delay = RetryDelay(failure, history, context_.options->max_attempts, random_);
  if (!delay || !context_.budget->Spend()) {
    return DescribeFailure(kOperation, dialect_.Uri(key_), failure, history.attempts);
  }
  return WaitBefore(failure, *delay);
}

UploadSession::Step UploadSession::Try(Bytes bytes, const std::string& range, bool last, int attempt) {
  http::Transfer transfer;
  transfer.request.method = "PUT";
  transfer.request.url = session_;  // it is its own proof: nothing is signed
  transfer.request.body = {bytes};
  transfer.request.headers.Add("Content-Range", range);
  if (last) {
    transfer.request.headers.Add("x-goog-hash", "crc32c=" + MakeCrc32c(crc32c_).Base64());
  }
  return ReadAnswer(Run(std::move(transfer), attempt));
}

http::Outcome UploadSession::Run(http::Transfer transfer, int attempt) const {
  constexpr std::chrono::milliseconds kCancelPoll(50);
  constexpr double kLeastSeconds = 0.001;
  const int64_t bytes = transfer.request.body_bytes();
  if (deadline_ > 0) {
    transfer.total_timeout_seconds = std::max(kLeastSeconds, deadline_ - MonotonicSeconds());
  }
  const auto promise = std::make_shared<std::promise<http::Outcome>>();
  std::future<http::Outcome> landed = promise->get_future();
  const http::TransferId id = context_.client->Start(
      std::move(transfer), [promise](http::Outcome outcome) { promise->set_value(std::move(outcome)); });
  while (landed.wait_for(kCancelPoll) != std::future_status::ready) {
    if (IsCancelled(options_.cancel)) {
      context_.client->Cancel(id);
      break;
    }
  }
  http::Outcome outcome = landed.get();
  if (context_.observer != nullptr) {
    context_.observer->OnRequest({.operation = kOperation,
                                  .method = "PUT",
                                  .http_status = outcome.response.status,
                                  .error = outcome.error,
                                  .attempt = attempt,
                                  .new_connection = outcome.response.new_connection,
                                  .bytes_sent = outcome.ok() ? bytes : 0,
                                  .bytes_received = outcome.response.body_bytes,
                                  .first_byte_seconds = outcome.response.first_byte_seconds,
                                  .total_seconds = outcome.response.total_seconds});
  }
  return outcome;
}

UploadSession::Step UploadSession::ReadAnswer(const http::Outcome& outcome) const {
  Step step;
  if (!outcome.ok()) {
    step.failure = FailureOfTransport(outcome);
  } else if (outcome.response.status == 308) {
    step.committed = CommittedOf(outcome.response);
  } else if (outcome.response.status >= 300) {
    step.failure = dialect_.ReadFailure(outcome.response);
  } else {
    step.object = ParseGcsObject(key_, outcome.response.body);
    if (!step.object) {
      step.failure = UnreadableAnswer(outcome.response);
    }
  }
  return step;
}

Status UploadSession::TakeCommitted(int64_t committed, int64_t begin, int64_t end) {
  if (committed < begin || committed > end) {
    return Status::Io(
        fmt::format("cannot write {}: the store has {} bytes of it, of which {} to {} were sent last "
                    "(write it again)",
                    dialect_.Uri(key_), committed, begin, end));
  }
  if (options_.progress && committed > sent_) {
    options_.progress(committed - sent_);
  }
  sent_ = committed;
  return Status::Ok();
}

Status UploadSession::WaitBefore(const Failure& failure, double seconds) const {
  const double until = MonotonicSeconds() + seconds;
  if (deadline_ > 0 && until > deadline_) {
    return DescribeFailure(kOperation, dialect_.Uri(key_), failure, 1).WithContext("the deadline has passed");
  }
  while (MonotonicSeconds() < until && !IsCancelled(options_.cancel)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return Status::Ok();
}

Result<ObjectInfo> UploadSession::OursOr(const Status& status) const {
  const Publication sent = {
      .key = key_, .token = token_, .bytes = given_, .checksum = [this] { return MakeCrc32c(crc32c_); }};
  return SettlePublish(context_, sent, {status, failure_});
}

void UploadSession::Abort() {
  if (session_.empty() || keep_) {
    return;
  }
  http::Transfer transfer;
  transfer.request.method = "DELETE";
  transfer.request.url = std::exchange(session_, {});
  transfer.total_timeout_seconds = context_.options->give_up_seconds;
  // Best effort: a session that stays ends by itself after a week, and holds nothing that is visible or billed.
  const http::Outcome outcome = context_.client->Run(std::move(transfer));
  const int http_status = outcome.ok() ? outcome.response.status : 0;
  if (options_.journal != nullptr && (http_status / 100 == 2 || IsGone(http_status))) {
    options_.journal->OnGone();
  }
}

}  // namespace assay::storage
