#include "storage/s3/condition_probe.h"

#include <fmt/format.h>

#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "storage/store_checks.h"
#include "storage/transfer/call_group.h"
#include "storage/transfer/multipart_upload.h"
#include "storage/transfer/publish.h"
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
bool DoesNotTake(const Failure& failure) {
  const std::string words = Lower(failure.message);
  const bool of_condition =
      words.find("if-match") != std::string::npos || words.find("if-none-match") != std::string::npos;
  return failure.http_status == 501 || failure.http_status == 405 || (failure.http_status == 400 && of_condition);
}

Status NotTriedStatus(const WriteCondition& condition, std::string_view uri, const Status& why) {
  return {why.code(), fmt::format("cannot {} {}: whether the store keeps conditions could not be tried: {} (set "
                                  "conditional_writes to yes where it is known to keep them)",
                                  VerbOf(condition), uri, why.message())};
}

/// What made a trial fail, and that its object could not be removed then.
Status WithLeftover(const Status& failed, const CallResult& removed) {
  if (failed.ok() || removed.status.ok()) {
    return failed.ok() ? removed.status : failed;
  }
  return {failed.code(),
          fmt::format("{}; what it has written may stay: {}", failed.message(), removed.status.message())};
}

/// Both, where both are errors.
Status Joined(const Status& first, const Status& second) {
  if (first.ok() || second.ok()) {
    return first.ok() ? second : first;
  }
  return {second.code(), fmt::format("{}; {}", first.message(), second.message())};
}

/// Nothing where the answer says neither.
std::optional<bool> IsKept(const CallResult& again) {
  if (again.status.ok() || (again.failure && DoesNotTake(*again.failure))) {
    return false;
  }
  return FailedWith(again, FailureClass::kPrecondition) ? std::optional(true) : std::nullopt;
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
  Status tried = kept_.contains(trial) ? Status::Ok() : Try(trial, ProbeKey(key), options.cancel);
  if (way != Publishing::kCopy) {
    tried = Joined(std::exchange(untold_, Status::Ok()), tried);
  }
  if (!tried.ok()) {
    return NotTriedStatus(options.condition, uri, tried);
  }
  return kept_[trial] ? Status::Ok() : ConditionNotKeptStatus(options.condition, uri);
}

Status ConditionProbe::Try(const Trial& trial, const std::string& probe, CancelFlag cancel) {
  WriteOptions options;
  options.cancel = cancel;
  const Result<ObjectInfo> standing =
      RunHere(PutWhole(context_, probe, {std::as_bytes(std::span(kProbeContent))}, options));
  options.condition = {.kind = trial.second, .etag = kOtherEtag};
  const CallResult again = standing.ok() ? WriteAgain(trial.first, *standing, options) : CallResult{};
  // Also where the first write failed: it may have been carried out.
  const CallResult removed = Remove(probe);
  const Status& end = standing.ok() ? again.status : standing.status();
  const std::optional<bool> kept = standing.ok() ? IsKept(again) : std::nullopt;
  const bool copies = trial.first == Publishing::kCopy;
  // The store's own answer, not that of who hands out credentials.
  const bool never = copies && FailedWith(again, FailureClass::kDenied) && again.failure->http_status != 0;
  // Also where the object stays: who may not remove it is told once, and leaves no other.
  if (kept || never) {
    kept_[trial] = kept.value_or(false);
  }
  const Status tried = WithLeftover(kept ? Status::Ok() : end, removed);
  if (copies && !removed.status.ok()) {
    untold_ = Joined(untold_, tried);
  }
  return tried;
}

CallResult ConditionProbe::Remove(const std::string& probe) const {
  CallResult removed =
      RunOne(context_, "remove", probe, [&] { return context_.writing->Remove(probe); }, nullptr, nullptr);
  return FailedWith(removed, FailureClass::kMissing) ? CallResult{} : removed;
}

CallResult ConditionProbe::WriteAgain(Publishing way, const ObjectInfo& standing, const WriteOptions& options) {
  const Bytes content = std::as_bytes(std::span(kProbeContent));
  switch (way) {
    case Publishing::kPut: {
      WholePut put(context_, standing.key, {content}, options);
      CallGroup calls(context_, {.in_flight = 1, .cancel = options.cancel});
      calls.Add(put.MakeCall());
      [[maybe_unused]] const Status run = calls.WaitAll();
      const Status status = RunHere(put.Finish()).status();
      return {status, put.result().failure};
    }
    case Publishing::kCopy:
      return copy_(standing, standing.key, options);
    case Publishing::kComplete:
      break;
  }
  MultipartUpload upload(context_, standing.key, options, 1);
  if (const Status begun = RunHere(upload.Begin()); !begun.ok()) {
    return {begun, std::nullopt};
  }
  upload.AddPart({content});
  const Status status = RunHere(upload.Complete()).status();
  return {status, upload.refusal()};
}

}  // namespace assay::storage
