#include "storage/transfer/upload.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "storage/store_checks.h"
#include "storage/transfer/object_headers.h"
#include "storage/transfer/part_plan.h"
#include "storage/transfer/put_call.h"
#include "storage/transfer/single_call.h"

namespace assay::storage {
namespace {

/// How long giving an upload up may take: whoever waits for that has failed already.
constexpr double kAbortSeconds = 15;
constexpr std::string_view kPartsTerms = "parts ";

std::string TokenOf(const WriteOptions& options) {
  return options.write_token.empty() ? RandomUid() : options.write_token;
}

std::optional<Failure> CompareChecksums(const Checksum& sent, const std::optional<Checksum>& stored) {
  if (!stored || stored->kind != sent.kind || *stored == sent) {
    return std::nullopt;
  }
  return MakeFailure(
      FailureClass::kCorrupt, ErrorCode::kIo,
      fmt::format("{} of what was sent is {}, the store computed {}", NameOf(sent.kind), sent.Hex(), stored->Hex()));
}

/// After an attempt whose answer was lost, the object that stands may be the one we wrote; so it may when the caller
/// brought a token, which an earlier try of its own may have used.
Result<ObjectInfo> OursOr(const CallContext& context, const std::string& key, const std::string& token,
                          const WriteOptions& options, const CallResult& result) {
  if (result.maybe_applied || !options.write_token.empty()) {
    const auto standing = StatObject(context, key);
    if (standing.ok() && standing->has_value() && WonEarlier(**standing, {{std::string(kWriteTokenName), token}})) {
      return **standing;
    }
  }
  return result.status;
}

bool FailedWith(const CallResult& result, FailureClass kind) {
  return result.failure && result.failure->kind == kind;
}

/// What ResumableUpload::terms says of an upload in parts.
std::string PartsTerms(const CallContext& context, const WriteOptions& options) {
  return std::string(kPartsTerms) + UploadTerms(options, *context.options);
}

bool GoesOn(const CallContext& context, const WriteOptions& options) {
  const bool publishable =
      options.condition.kind == WriteCondition::Kind::kNone || context.dialect->traits().parts_take_conditions;
  return options.resume != nullptr && publishable && options.resume->terms == PartsTerms(context, options);
}

/// Parts of the upload that is gone on with must be cut as they were.
StoreOptions PlanOptions(const CallContext& context, const WriteOptions& options) {
  StoreOptions plan = *context.options;
  if (GoesOn(context, options)) {
    plan.part_bytes = options.resume->part_bytes;
  }
  return plan;
}

/// A walk over scattered buffers that cuts them into runs.
class BufferWalk {
 public:
  explicit BufferWalk(std::span<const Bytes> buffers) : buffers_(buffers) {}

  Pieces Next(int64_t bytes) {
    Pieces pieces;
    while (bytes > 0 && buffer_ < buffers_.size()) {
      const Bytes rest = buffers_[buffer_].subspan(offset_);
      const Bytes piece = rest.first(std::min(rest.size(), static_cast<size_t>(bytes)));
      if (!piece.empty()) {
        pieces.push_back(piece);
      }
      bytes -= static_cast<int64_t>(piece.size());
      offset_ += piece.size();
      if (piece.size() == rest.size()) {
        ++buffer_;
        offset_ = 0;
      }
    }
    return pieces;
  }

 private:
  std::span<const Bytes> buffers_;
  size_t buffer_ = 0;
  size_t offset_ = 0;
};

}  // namespace

std::string UploadTerms(const WriteOptions& write, const StoreOptions& store) {
  return Sha256Hex(
      DumpJson({write.content_type, write.metadata, store.storage_class, store.encryption, store.encryption_key_id}));
}

WholePut::WholePut(const CallContext& context, std::string key, Pieces pieces, const WriteOptions& options)
    : context_(context),
      key_(std::move(key)),
      pieces_(std::move(pieces)),
      options_(options),
      bytes_(TotalBytes(pieces_)),
      token_(options.condition.kind == WriteCondition::Kind::kNone ? std::string() : TokenOf(options)) {}

std::unique_ptr<StoreCall> WholePut::MakeCall() {
  auto call = std::make_unique<PutCall>(
      "write", key_, std::move(pieces_), context_.dialect->traits().checksum, false,
      [this](ChecksumSource& body) { return context_.dialect->Put(key_, body, options_, token_); },
      [this](http::Response& response, const Checksum& sent) { return Take(response, sent); },
      [this](const CallResult& end) { result_ = end; });
  if (options_.journal != nullptr) {
    call->set_guard([journal = options_.journal] { return journal->BeforePublish(); });
  }
  return call;
}

std::optional<Failure> WholePut::Take(http::Response& response, const Checksum& sent) {
  Dialect::Read<ObjectInfo> read = context_.dialect->ReadPut(key_, response);
  info_ = std::move(read.value);
  if (!read.failure) {
    read.failure = FailureWithoutEtag(info_);
  }
  if (!read.failure) {
    read.failure = CompareChecksums(sent, info_.checksum);
    info_.checksum = sent;
  }
  return read.failure;
}

Result<ObjectInfo> WholePut::Finish(const Status& run) {
  const Status& status = result_.status.ok() ? run : result_.status;
  if (!status.ok() && !token_.empty() && FailedWith(result_, FailureClass::kPrecondition)) {
    return OursOr(context_, key_, token_, options_, result_);
  }
  ASSAY_RETURN_IF_ERROR(status);
  info_.key = key_;
  info_.size = bytes_;
  if (options_.progress) {
    options_.progress(bytes_);
  }
  return info_;
}

Result<ObjectInfo> PutWhole(const CallContext& context, const std::string& key, Pieces pieces,
                            const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckExpected(options.expected, pieces, context.dialect->Uri(key)));
  WholePut put(context, key, std::move(pieces), options);
  CallRunner runner(context, {.in_flight = 1, .cancel = options.cancel});
  runner.Add(put.MakeCall());
  return put.Finish(runner.RunAll());
}

MultipartUpload::MultipartUpload(const CallContext& context, std::string key, const WriteOptions& options,
                                 int in_flight)
    : context_(context), key_(std::move(key)), options_(options), in_flight_(in_flight) {}

MultipartUpload::~MultipartUpload() {
  Abort();
}

Status MultipartUpload::Begin() {
  if (GoesOn(context_, options_)) {
    // Also where it is gone: it may have been completed before anybody could be told.
    options_.write_token = options_.resume->write_token;
    ASSAY_RETURN_IF_ERROR(BeginAgain());
  } else if (options_.resume != nullptr && options_.resume->terms.starts_with(kPartsTerms)) {
    GiveUp(options_.resume->upload_id);
  }
  token_ = TokenOf(options_);
  if (upload_id_.empty()) {
    ASSAY_RETURN_IF_ERROR(BeginNew());
  }
  runner_ =
      std::make_unique<CallRunner>(context_, CallRunner::Limits{.in_flight = in_flight_, .cancel = options_.cancel});
  return Status::Ok();
}

Status MultipartUpload::BeginNew() {
  const Dialect& dialect = *context_.dialect;
  const CallResult result = RunOne(
      context_, "begin the upload of", key_, [&] { return dialect.CreateUpload(key_, options_, token_); },
      [&](http::Response& response) {
        Dialect::Read<std::string> read = dialect.ReadCreateUpload(response);
        upload_id_ = std::move(read.value);
        return read.failure;
      },
      options_.cancel);
  return result.status;
}

std::optional<Failure> MultipartUpload::TakeParts(http::Response& response, std::string& next_page) {
  Dialect::Read<PartsPage> page = context_.dialect->ReadListParts(response);
  next_page = page.value.next_page;
  for (const UploadedPart& part : page.value.parts) {
    const auto& known = options_.resume->parts;
    const auto ours = std::find_if(known.begin(), known.end(), [&part](const UploadedPart& candidate) {
      return candidate.number == part.number && candidate.bytes == part.bytes && candidate.etag == part.etag;
    });
    if (ours != known.end() && ours->checksum && !CompareChecksums(*ours->checksum, part.checksum)) {
      held_[part.number] = *ours;
      if (part.checksum) {
        recorded_.insert(part.number);
      }
    }
  }
  return page.failure;
}

Status MultipartUpload::BeginAgain() {
  const std::string& upload_id = options_.resume->upload_id;
  std::string page;
  do {
    std::string next;
    const CallResult result = RunOne(
        context_, "list the parts of", key_, [&] { return context_.dialect->ListParts(key_, upload_id, page); },
        [&](http::Response& response) { return TakeParts(response, next); }, options_.cancel);
    if (FailedWith(result, FailureClass::kMissing)) {
      held_.clear();
      return Status::Ok();
    }
    ASSAY_RETURN_IF_ERROR(result.status);
    page = std::move(next);
  } while (!page.empty());
  upload_id_ = upload_id;
  return Status::Ok();
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
    recorded_.erase(number);
    return false;
  }
  parts_[static_cast<size_t>(number - 1)] = held->second;
  if (options_.progress) {
    options_.progress(bytes);
  }
  return true;
}

void MultipartUpload::TellJournal(int64_t part_bytes) const {
  if (options_.journal == nullptr) {
    return;
  }
  ResumableUpload upload{upload_id_, token_, part_bytes, {}, PartsTerms(context_, options_)};
  for (const auto& [number, part] : held_) {
    upload.parts.push_back(part);
  }
  options_.journal->OnBegin(upload);
}

int MultipartUpload::NextNumber(int64_t bytes) {
  parts_.emplace_back();
  total_bytes_ += bytes;
  return static_cast<int>(parts_.size());
}

void MultipartUpload::Progress(const CallResult& result, int64_t bytes) const {
  if (result.status.ok() && options_.progress) {
    options_.progress(bytes);
  }
}

void MultipartUpload::AddRemotePart(int64_t bytes, MakeRemote make, ReadRemote read) {
  const int number = NextNumber(bytes);
  runner_->Add(std::make_unique<FunctionCall>(
      fmt::format("copy part {} of", number), key_,
      [this, number, make = std::move(make)] { return make(upload_id_, number); },
      [this, number, bytes, read = std::move(read)](http::Response& response) {
        Dialect::Read<ObjectInfo> part = read(response);
        if (!part.failure) {
          parts_[static_cast<size_t>(number - 1)] = UploadedPart{number, bytes, part.value.etag, part.value.checksum};
          recorded_.insert(number);
        }
        return part.failure;
      },
      [this, bytes](const CallResult& result) { Progress(result, bytes); }));
}

void MultipartUpload::AddPart(Pieces pieces, std::function<void()> release) {
  const int64_t bytes = TotalBytes(pieces);
  const int number = NextNumber(bytes);
  if (TakeHeld(number, pieces, bytes)) {
    if (release) {
      release();
    }
    return;
  }
  runner_->Add(std::make_unique<PutCall>(
      fmt::format("write part {} of", number), key_, std::move(pieces), context_.dialect->traits().checksum, true,
      [this, number](ChecksumSource& body) { return context_.dialect->PutPart(key_, upload_id_, number, body); },
      [this, number, bytes](http::Response& response, const Checksum& sent) {
        Dialect::Read<UploadedPart> read = context_.dialect->ReadPutPart(response);
        if (!read.failure) {
          read.failure = CompareChecksums(sent, read.value.checksum);
        }
        if (!read.failure) {
          parts_[static_cast<size_t>(number - 1)] = UploadedPart{number, bytes, read.value.etag, sent};
          if (read.value.checksum) {
            recorded_.insert(number);
          }
          if (options_.journal != nullptr) {
            options_.journal->OnPart(*parts_[static_cast<size_t>(number - 1)]);
          }
        }
        return read.failure;
      },
      [this, bytes, release = std::move(release)](const CallResult& result) {
        if (release) {
          release();
        }
        Progress(result, bytes);
      }));
}

Status MultipartUpload::RunBelow(int parts) {
  return runner_->RunBelow(parts);
}

std::vector<UploadedPart> MultipartUpload::Parts() const {
  std::vector<UploadedPart> parts;
  for (const auto& part : parts_) {
    parts.push_back(*part);
    if (!recorded_.contains(part->number)) {
      parts.back().checksum.reset();
    }
  }
  return parts;
}

std::optional<Checksum> MultipartUpload::Combined() const {
  std::vector<PartChecksum> checksums;
  int64_t offset = 0;
  for (const auto& part : parts_) {
    if (!part->checksum) {
      return std::nullopt;
    }
    checksums.push_back({offset, part->bytes, *part->checksum});
    offset += part->bytes;
  }
  return CombineParts(std::move(checksums), total_bytes_);
}

Result<ObjectInfo> MultipartUpload::SendComplete(const std::optional<Checksum>& whole) {
  const std::vector<UploadedPart> parts = Parts();
  ObjectInfo info;
  const CallResult result = RunOne(
      context_, "complete the upload of", key_,
      [&] { return context_.dialect->CompleteUpload(key_, upload_id_, parts, whole, options_); },
      [&](http::Response& response) {
        Dialect::Read<ObjectInfo> read = context_.dialect->ReadCompleteUpload(key_, response);
        info = std::move(read.value);
        if (!read.failure && whole) {
          read.failure = CompareChecksums(*whole, info.checksum);
        }
        return read.failure;
      },
      options_.cancel);
  if (FailedWith(result, FailureClass::kMissing) || FailedWith(result, FailureClass::kPrecondition)) {
    return OursOr(context_, key_, token_, options_, result);
  }
  ASSAY_RETURN_IF_ERROR(result.status);
  return info;
}

Status MultipartUpload::CheckBeforePublish() {
  const Status sent = runner_->RunAll();
  // What the network ended can be gone on with; what was refused or given up cannot.
  keep_ = options_.journal != nullptr && options_.journal->remembers() && sent.code() == ErrorCode::kIo;
  ASSAY_RETURN_IF_ERROR(sent);
  return options_.journal == nullptr ? Status::Ok() : options_.journal->BeforePublish();
}

Result<ObjectInfo> MultipartUpload::Complete() {
  ASSAY_RETURN_IF_ERROR(CheckBeforePublish());
  const std::optional<Checksum> whole = Combined();
  if (options_.expected && whole && options_.expected->kind == whole->kind && *options_.expected != *whole) {
    return ChecksumMismatchStatus("write", context_.dialect->Uri(key_), *options_.expected, *whole);
  }
  ASSAY_ASSIGN_OR_RETURN(ObjectInfo info, SendComplete(whole));
  upload_id_.clear();
  info.key = key_;
  info.size = total_bytes_;
  info.checksum = whole;
  return info;
}

void MultipartUpload::Abort() {
  // The parts on their way are given up first: one that arrives later would keep the upload alive.
  runner_.reset();
  if (upload_id_.empty() || keep_) {
    return;
  }
  GiveUp(std::exchange(upload_id_, {}));
}

void MultipartUpload::GiveUp(const std::string& upload_id) {
  // Best effort: what cannot be aborted now stays in the list of unfinished uploads.
  [[maybe_unused]] const CallResult result = RunOne(
      context_, "abort the upload of", key_, [&] { return context_.dialect->AbortUpload(key_, upload_id); }, nullptr,
      nullptr, MonotonicSeconds() + kAbortSeconds);
}

Result<ObjectInfo> WriteBuffers(const CallContext& context, const std::string& key, std::span<const Bytes> buffers,
                                const WriteOptions& options) {
  const DialectTraits& traits = context.dialect->traits();
  BufferWalk walk(buffers);
  const int64_t total = TotalBytes(buffers);
  ASSAY_ASSIGN_OR_RETURN(const PartPlan plan, PlanUpload(total, PlanOptions(context, options), traits));
  if (plan.parts == 1) {
    return PutWhole(context, key, walk.Next(total), options);
  }
  if (options.expected && options.expected->kind != traits.checksum) {
    ASSAY_RETURN_IF_ERROR(CheckExpected(options.expected, buffers, context.dialect->Uri(key)));
  }
  MultipartUpload upload(context, key, options, plan.connections);
  ASSAY_RETURN_IF_ERROR(upload.Begin());
  upload.TellJournal(plan.part_bytes);
  for (int64_t part = 0; part < plan.parts; ++part) {
    upload.AddPart(walk.Next(plan.part_bytes));
  }
  return upload.Complete();
}

}  // namespace assay::storage
