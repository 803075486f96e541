#include "storage/transfer/multipart_upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/list_checks.h"
#include "storage/store_checks.h"
#include "storage/transfer/object_headers.h"
#include "storage/transfer/single_call.h"

namespace assay::storage {
namespace {

/// Second copies of parts may land until the upload is completed, so that more than one look may be needed.
constexpr int kCompletions = 4;
constexpr std::string_view kPartsTerms = "parts ";

/// What ResumableUpload::terms says of an upload in parts.
std::string PartsTerms(const CallContext& context, const WriteOptions& options) {
  return std::string(kPartsTerms) + UploadTerms(context, options);
}

/// Adds a page to those before it.
Status TakePage(const PartsPage& page, PageTokens& tokens, std::map<int, UploadedPart>& listed) {
  if (!page.next_page.empty()) {
    ASSAY_RETURN_IF_ERROR(tokens.Take(page.next_page));
  }
  if (!page.parts.empty() && !listed.empty() && page.parts.front().number <= listed.rbegin()->first) {
    return ContradictoryList(fmt::format("it names part {} behind part {} of the page before it",
                                         page.parts.front().number, listed.rbegin()->first));
  }
  for (const UploadedPart& part : page.parts) {
    listed[part.number] = part;
  }
  return Status::Ok();
}

}  // namespace

std::string UploadTerms(const CallContext& context, const WriteOptions& write) {
  const StoreOptions& store = *context.options;
  return Sha256Hex(DumpJson({write.content_type, write.metadata, store.storage_class, context.writing->WriteTerms(),
                             store.encryption_key_id}));
}

bool IsInParts(const ResumableUpload& upload) {
  return upload.terms.starts_with(kPartsTerms);
}

bool GoesOn(const CallContext& context, const WriteOptions& options) {
  const bool publishable =
      options.condition.kind == WriteCondition::Kind::kNone || context.dialect->traits().parts_take_conditions;
  return options.resume != nullptr && publishable && options.resume->terms == PartsTerms(context, options);
}

Task<bool> GiveUpParts(const CallContext& context, std::string key, std::string upload_id) {
  const auto make = [&] { return context.writing->AbortUpload(key, upload_id); };
  const double deadline = MonotonicSeconds() + context.options->give_up_seconds;
  const CallResult aborted =
      co_await SendOne(context, "abort the upload of", key, make, nullptr, {.deadline = deadline});
  co_return aborted.status.ok() || FailedWith(aborted, FailureClass::kMissing);
}

Task<void> GiveUpEarlier(const CallContext& context, const std::string& key, const WriteOptions& options) {
  if (options.resume != nullptr && IsInParts(*options.resume)) {
    co_await GiveUpParts(context, key, options.resume->upload_id);
  }
}

MultipartUpload::MultipartUpload(const CallContext& context, std::string key, const WriteOptions& options,
                                 int in_flight)
    : context_(context),
      key_(std::move(key)),
      options_(options),
      in_flight_(in_flight),
      deadline_(DeadlineOf(*context.options)) {}

MultipartUpload::~MultipartUpload() {
  if (calls_ || !upload_id_.empty()) {
    RunHere(Abort());
  }
}

Task<Status> MultipartUpload::Begin() {
  if (GoesOn(context_, options_)) {
    // Also where it is gone: it may have been completed before anybody could be told.
    options_.write_token = options_.resume->write_token;
    ASSAY_CO_RETURN_IF_ERROR(co_await BeginAgain());
  }
  token_ = TokenOf(options_);
  if (upload_id_.empty()) {
    ASSAY_CO_RETURN_IF_ERROR(co_await BeginNew());
  }
  CallGroup::Limits limits;
  limits.in_flight = in_flight_;
  limits.cancel = options_.cancel;
  limits.deadline = deadline_;
  limits.priority = options_.priority;
  calls_ = std::make_unique<CallGroup>(context_, limits);
  co_return Status::Ok();
}

Task<Status> MultipartUpload::BeginNew() {
  const Dialect& dialect = *context_.writing;
  const auto make = [&] { return dialect.CreateUpload(key_, options_, token_); };
  const auto take = [&](http::Response& response) {
    Dialect::Read<std::string> read = dialect.ReadCreateUpload(response);
    upload_id_ = std::move(read.value);
    return read.failure;
  };
  // An upload whose id was never heard could not be aborted.
  const CallResult result = co_await SendOne(
      context_, "begin the upload of", key_, make, take,
      {.cancel = options_.cancel, .deadline = deadline_, .linger_seconds = context_.options->give_up_seconds});
  co_return result.status;
}

Task<CallResult> MultipartUpload::ListParts(const std::string& upload_id, std::map<int, UploadedPart>& listed) const {
  CallResult result;
  PageTokens tokens;
  std::string page;
  do {
    std::string next;
    const auto make = [&] { return context_.writing->ListParts(key_, upload_id, page); };
    const auto take = [&](http::Response& response) {
      Dialect::Read<PartsPage> read = context_.writing->ReadListParts(response);
      next = read.value.next_page;
      const Status status = read.failure ? Status::Ok() : TakePage(read.value, tokens, listed);
      return status.ok() ? std::move(read.failure) : UnreadableAnswer(response, status);
    };
    result = co_await SendOne(context_, "list the parts of", key_, make, take,
                              {.cancel = options_.cancel, .deadline = deadline_});
    page = std::move(next);
  } while (result.status.ok() && !page.empty());
  co_return result;
}

Task<Status> MultipartUpload::BeginAgain() {
  const std::string& upload_id = options_.resume->upload_id;
  std::map<int, UploadedPart> listed;
  const CallResult result = co_await ListParts(upload_id, listed);
  if (result.failure && IsRefusal(*result.failure)) {
    co_return Status::Ok();
  }
  ASSAY_CO_RETURN_IF_ERROR(result.status);
  for (const UploadedPart& part : options_.resume->parts) {
    const auto standing = listed.find(part.number);
    if (part.checksum && standing != listed.end() && HoldsSent(standing->second, part)) {
      UploadedPart& held = held_[part.number] = part;
      held.etag = standing->second.etag;
      held.digest = standing->second.checksum;
    }
  }
  upload_id_ = upload_id;
  co_return Status::Ok();
}

bool MultipartUpload::TakeHeld(int number, const Pieces& pieces, int64_t bytes) {
  const auto held = held_.find(number);
  if (held == held_.end() || held->second.bytes != bytes) {
    return false;
  }
  // A source may have changed in ways that its time of change does not tell.
  ChecksumStream stream(held->second.checksum->kind);
  for (const Bytes& piece : pieces) {
    stream.Update(piece);
  }
  if (stream.Finish() != *held->second.checksum) {
    return false;
  }
  {
    const std::lock_guard lock(mutex_);
    parts_.Set(held->second, held->second.digest == held->second.checksum);
  }
  if (options_.progress) {
    options_.progress(bytes);
  }
  return true;
}

Task<void> MultipartUpload::TellJournal(int64_t part_bytes) const {
  if (options_.journal != nullptr) {
    ResumableUpload upload{upload_id_, token_, part_bytes, {}, PartsTerms(context_, options_)};
    for (const auto& [number, part] : held_) {
      upload.parts.push_back(part);
    }
    options_.journal->OnBegin(upload);
  }
  if (options_.resume != nullptr && options_.resume->upload_id != upload_id_) {
    co_await GiveUpEarlier(context_, key_, options_);
  }
}

void MultipartUpload::Progress(const CallResult& result, int64_t bytes) const {
  if (result.status.ok() && options_.progress) {
    options_.progress(bytes);
  }
}

void MultipartUpload::NewPart(int number, int64_t bytes, Pieces pieces) {
  const std::lock_guard lock(mutex_);
  parts_.Add(number, bytes, std::move(pieces));
}

void MultipartUpload::AddRemotePart(int64_t bytes, MakeRemote make, ReadRemote read) {
  remote_ = true;
  const int number = parts_.next();
  NewPart(number, bytes, {});
  calls_->Add(std::make_unique<FunctionCall>(
      fmt::format("copy part {} of", number), key_,
      [this, number, make = std::move(make)] { return make(upload_id_, number); },
      [this, number, bytes, read = std::move(read)](http::Response& response) {
        Dialect::Read<ObjectInfo> part = read(response);
        if (!part.failure) {
          part.failure = FailureWithoutEtag(part.value);
        }
        if (!part.failure) {
          const std::lock_guard lock(mutex_);
          parts_.Set({number, bytes, part.value.etag, part.value.checksum}, part.value.checksum.has_value());
        }
        return part.failure;
      },
      [this, bytes](const CallResult& result) { Progress(result, bytes); }));
}

void MultipartUpload::AddPart(int number, Pieces pieces, std::function<void()> release) {
  const int64_t bytes = TotalBytes(pieces);
  NewPart(number, bytes, release ? Pieces() : pieces);
  if (TakeHeld(number, pieces, bytes)) {
    if (release) {
      release();
    }
    return;
  }
  // Where a list does not tell which of two copies stands, it must be possible to send the part a third time.
  const bool kept = !release;
  SendPart(
      number, std::move(pieces), [this, kept, bytes] { return kept || (proves_all_ && bytes <= proven_bytes_); },
      [this, bytes, release = std::move(release)](const CallResult& result) {
        if (release) {
          release();
        }
        Progress(result, bytes);
      });
}

void MultipartUpload::SendPart(int number, Pieces pieces, PutCall::MayReissue may_reissue, PutCall::OnDone done) {
  const int64_t bytes = TotalBytes(pieces);
  auto call = std::make_unique<PutCall>(
      fmt::format("write part {} of", number), key_, std::move(pieces), context_.dialect->traits().checksum,
      std::move(may_reissue),
      [this, number](ChecksumSource& body) { return context_.writing->PutPart(key_, upload_id_, number, body); },
      [this, number, bytes](http::Response& response, const Checksum& sent) {
        return TakePart(number, bytes, response, sent);
      },
      std::move(done));
  if (options_.journal != nullptr) {
    call->set_guard([journal = options_.journal] { return journal->BeforePartEnds(); });
  }
  calls_->Add(std::move(call));
}

std::optional<Failure> MultipartUpload::TakePart(int number, int64_t bytes, http::Response& response,
                                                 const Checksum& sent) {
  Dialect::Read<UploadedPart> read = context_.writing->ReadPutPart(response);
  if (!read.failure) {
    read.failure = FailureWithoutEtag({.etag = read.value.etag});
  }
  if (!read.failure) {
    read.failure = CompareChecksums(sent, read.value.checksum);
  }
  const std::lock_guard lock(mutex_);
  const std::optional<UploadedPart>& before = parts_.sent(number);
  if (!read.failure && before && before->checksum != sent) {
    read.failure = MakeFailure(FailureClass::kPermanent, ErrorCode::kFailedPrecondition,
                               "its bytes have changed since they were first sent");
  }
  if (!read.failure) {
    if (context_.writing->ListProves(read.value)) {
      proven_bytes_ = std::max(proven_bytes_, bytes);
    } else {
      proves_all_ = false;
    }
    parts_.Set({number, bytes, read.value.etag, sent, read.value.digest}, read.value.checksum == sent);
    if (options_.journal != nullptr) {
      options_.journal->OnPart(*parts_.sent(number));
    }
  }
  return read.failure;
}

Task<Status> MultipartUpload::CheckBeforePublish() {
  const Status sent = co_await calls_->UntilDone();
  keep_ = KeepsUpload(options_, sent, std::nullopt);
  ASSAY_CO_RETURN_IF_ERROR(sent);
  co_return options_.journal == nullptr ? Status::Ok() : options_.journal->BeforePublish();
}

Task<CallResult> MultipartUpload::SendComplete(const std::optional<Checksum>& whole, ObjectInfo& info) const {
  const std::vector<UploadedPart> parts = parts_.Named();
  const auto make = [&] { return context_.writing->CompleteUpload(key_, upload_id_, parts, whole, options_); };
  const auto take = [&](http::Response& response) {
    Dialect::Read<ObjectInfo> read = context_.writing->ReadCompleteUpload(key_, response);
    info = std::move(read.value);
    if (!read.failure && whole) {
      read.failure = ComparePublished(*whole, info.checksum);
    }
    return read.failure;
  };
  co_return co_await SendOne(context_, "complete the upload of", key_, make, take,
                             {.cancel = options_.cancel, .deadline = deadline_});
}

Task<Status> MultipartUpload::Reconcile(const Status& refused, const std::map<int, UploadedPart>& listed) {
  for (const int number : parts_.Reconcile(listed)) {
    if (parts_.pieces(number).empty()) {
      co_return refused;
    }
    SendPart(number, parts_.pieces(number), nullptr, nullptr);
  }
  co_return co_await calls_->UntilDone();
}

Publication MultipartUpload::PublicationOf(const std::optional<Checksum>& whole) const {
  // What the store has told of its own copies is proven by nothing.
  const bool by_parts = whole && !(remote_ && options_.expected);
  const std::optional<Checksum> known = by_parts ? whole : options_.expected;
  return {.key = key_, .token = token_, .bytes = parts_.total_bytes(), .checksum = [known] { return known; }};
}

Task<Result<ObjectInfo>> MultipartUpload::Settle(const std::optional<Checksum>& whole, const CallResult& result) {
  Result<ObjectInfo> settled = co_await SettlePublish(context_, PublicationOf(whole), result);
  keep_ = KeepsUpload(options_, settled.status(), result.failure);
  co_return settled;
}

bool MultipartUpload::IsTold(const std::optional<Checksum>& whole, const ObjectInfo& info) const {
  const bool told = parts_.all_recorded() || (whole && info.checksum && info.checksum->kind == whole->kind);
  // Of copies Complete() has compared it with the sources where the two are of one kind.
  return told && (!remote_ || (whole && options_.expected && options_.expected->kind == whole->kind));
}

Task<Result<ObjectInfo>> MultipartUpload::Prove(const std::optional<Checksum>& whole, ObjectInfo info) const {
  if (IsTold(whole, info) && !info.etag.empty()) {
    co_return info;
  }
  ASSAY_CO_ASSIGN_OR_RETURN(const std::optional<ObjectInfo> standing,
                            co_await CheckPublished(context_, PublicationOf(whole)));
  if (standing && info.etag.empty()) {
    info.etag = standing->etag;
    info.version = standing->version;
  }
  co_return info;
}

Task<Result<ObjectInfo>> MultipartUpload::Publish(const std::optional<Checksum>& whole) {
  for (int completion = 1;; ++completion) {
    ObjectInfo info;
    const CallResult result = co_await SendComplete(whole, info);
    refusal_ = result.failure;
    if (result.status.ok()) {
      co_return co_await Prove(whole, std::move(info));
    }
    if (!FailedWith(result, FailureClass::kInvalidPart) || completion == kCompletions ||
        !context_.dialect->traits().capabilities.resumable_uploads) {
      co_return co_await Settle(whole, result);
    }
    std::map<int, UploadedPart> listed;
    const CallResult asked = co_await ListParts(upload_id_, listed);
    if (!asked.status.ok()) {
      co_return co_await Settle(whole, asked);
    }
    const Status reconciled = co_await Reconcile(result.status, listed);
    keep_ = KeepsUpload(options_, reconciled, std::nullopt);
    ASSAY_CO_RETURN_IF_ERROR(reconciled);
  }
}

Task<Result<ObjectInfo>> MultipartUpload::Complete() {
  ASSAY_CO_RETURN_IF_ERROR(co_await CheckBeforePublish());
  const std::optional<Checksum> whole = parts_.Combined();
  if (options_.expected && whole && options_.expected->kind == whole->kind && *options_.expected != *whole) {
    co_return ChecksumMismatchStatus("write", context_.dialect->Uri(key_), *options_.expected, *whole);
  }
  ASSAY_CO_ASSIGN_OR_RETURN(ObjectInfo info, co_await Publish(whole));
  upload_id_.clear();
  info.key = key_;
  info.size = parts_.total_bytes();
  info.checksum = whole;
  co_return info;
}

Task<void> MultipartUpload::Abort() {
  // The parts on their way are given up first: one that arrives later would keep the upload alive.
  if (calls_ && !calls_->done()) {
    calls_->GiveUp();
    [[maybe_unused]] const Status given_up = co_await calls_->UntilDone();
  }
  calls_.reset();
  if (upload_id_.empty() || keep_) {
    co_return;
  }
  const bool gone = co_await GiveUpParts(context_, key_, std::exchange(upload_id_, {}));
  if (gone && options_.journal != nullptr) {
    options_.journal->OnGone();
  }
}

}  // namespace assay::storage
