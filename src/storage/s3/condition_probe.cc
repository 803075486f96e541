#include "storage/s3/condition_probe.h"

#include <fmt/format.h>

#include <span>
#include <string_view>

#include "base/text.h"
#include "storage/store_checks.h"
#include "storage/transfer/multipart_upload.h"
#include "storage/transfer/single_call.h"
#include "storage/transfer/whole_put.h"

namespace assay::storage {
namespace {

constexpr std::string_view kProbeContent = "assay tries whether this store keeps conditions; remove this object\n";
constexpr std::string_view kProbeName = ".assay-condition-probe-";
/// Of no object: MD5s and what stands in for them elsewhere are never all zeros.
constexpr char kOtherEtag[] = "00000000000000000000000000000000";

/// Beside `key`, where who may write that may write too.
std::string ProbeKey(const std::string& key) {
  const std::string name = std::string(kProbeName) + RandomUid();
  const std::string folder = key.substr(0, key.rfind('/') + 1);
  return folder.size() + name.size() <= kMaxKeyBytes ? folder + name : name;
}

std::string_view VerbOf(const WriteCondition& condition) {
  return condition.kind == WriteCondition::Kind::kAbsent ? "create" : "replace";
}

/// The store does not carry the condition out, and says so in its own way.
bool DoesNotTake(ErrorCode code) {
  return code == ErrorCode::kUnsupported || code == ErrorCode::kInvalidArgument;
}

}  // namespace

Status ConditionNotKeptStatus(const WriteCondition& condition, std::string_view uri) {
  return Status::Unsupported(fmt::format(
      "cannot {} {}: the store does not keep the condition that {} there, and nothing was sent (write without it, or "
      "set conditional_writes to yes where it is known to keep it)",
      VerbOf(condition), uri,
      condition.kind == WriteCondition::Kind::kAbsent ? "nothing stands" : "the object of that etag stands"));
}

Status ConditionProbe::Check(Publishing way, const WriteOptions& options, const std::string& key) {
  const Trial trial(way, options.condition.kind);
  const std::string uri = context_.dialect->Uri(key);
  const std::lock_guard lock(mutex_);
  if (!kept_.contains(trial)) {
    const std::string probe = ProbeKey(key);
    const Result<bool> kept = Try(trial, probe, options.cancel);
    if (!kept.ok()) {
      return {kept.status().code(),
              fmt::format("cannot {} {}: whether the store keeps conditions could not be tried: {} (set "
                          "conditional_writes to yes where it is known to keep them)",
                          VerbOf(options.condition), uri, kept.status().message())};
    }
    kept_[trial] = *kept;
  }
  return kept_[trial] ? Status::Ok() : ConditionNotKeptStatus(options.condition, uri);
}

Result<bool> ConditionProbe::Try(const Trial& trial, const std::string& probe, CancelFlag cancel) {
  WriteOptions options;
  options.cancel = cancel;
  const Result<ObjectInfo> standing = PutWhole(context_, probe, {std::as_bytes(std::span(kProbeContent))}, options);
  options.condition = {.kind = trial.second, .etag = kOtherEtag};
  const Status again = standing.ok() ? WriteAgain(trial.first, *standing, options) : standing.status();
  // Also where the first write failed: it may have been carried out.
  const CallResult removed =
      RunOne(context_, "remove", probe, [&] { return context_.dialect->Remove(probe); }, nullptr, nullptr);
  ASSAY_RETURN_IF_ERROR(standing.status());
  if (again.ok() || DoesNotTake(again.code()) || again.code() == ErrorCode::kFailedPrecondition) {
    ASSAY_RETURN_IF_ERROR(removed.status);
    return again.code() == ErrorCode::kFailedPrecondition;
  }
  return again;
}

Status ConditionProbe::WriteAgain(Publishing way, const ObjectInfo& standing, const WriteOptions& options) {
  const Bytes content = std::as_bytes(std::span(kProbeContent));
  switch (way) {
    case Publishing::kPut:
      return PutWhole(context_, standing.key, {content}, options).status();
    case Publishing::kCopy:
      return copy_(standing, standing.key, options).status;
    case Publishing::kComplete:
      break;
  }
  MultipartUpload upload(context_, standing.key, options, 1);
  ASSAY_RETURN_IF_ERROR(upload.Begin());
  upload.AddPart({content});
  return upload.Complete().status();
}

}  // namespace assay::storage
