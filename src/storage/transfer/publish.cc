#include "storage/transfer/publish.h"

#include <fmt/format.h>

#include "base/terminal.h"
#include "base/text.h"
#include "storage/store_checks.h"
#include "storage/transfer/single_call.h"

namespace assay::storage {
namespace {

std::optional<Failure> Compare(FailureClass kind, const Checksum& sent, const std::optional<Checksum>& stored) {
  if (!stored || stored->kind != sent.kind || *stored == sent) {
    return std::nullopt;
  }
  return MakeFailure(
      kind, ErrorCode::kIo,
      fmt::format("{} of what was sent is {}, the store computed {}", NameOf(sent.kind), sent.Hex(), stored->Hex()));
}

std::string Describe(const ObjectInfo& standing) {
  const std::string checksum =
      standing.checksum ? fmt::format(", {} {}", NameOf(standing.checksum->kind), standing.checksum->Hex()) : "";
  return fmt::format("{} bytes{}, etag {}", standing.size, checksum, standing.etag);
}

std::string Describe(const Result<std::optional<ObjectInfo>>& standing) {
  if (!standing.ok()) {
    return "which could not be asked (" + standing.status().message() + ")";
  }
  return standing->has_value() ? Describe(**standing) : "nothing";
}

Status DamagedStatus(const CallContext& context, const std::string& key, const std::string& difference,
                     const Result<std::optional<ObjectInfo>>& standing) {
  return Status::Io(
      OneLine(fmt::format("cannot write {}: the store published other content: {}; there stands now: {}; check the "
                          "proxy and the memory between here and the store, then write it again or remove it",
                          context.dialect->Uri(key), difference, Describe(standing))));
}

/// How what stands differs from what was sent; empty where it does not, or nobody can tell.
std::string DifferenceOf(const Publication& sent, const ObjectInfo& standing) {
  if (sent.bytes && *sent.bytes != standing.size) {
    return fmt::format("{} bytes were sent, the store has {}", *sent.bytes, standing.size);
  }
  const std::optional<Checksum> checksum = sent.checksum && standing.checksum ? sent.checksum() : std::nullopt;
  const auto failure = checksum ? ComparePublished(*checksum, standing.checksum) : std::nullopt;
  return failure ? failure->message : "";
}

bool IsOurs(const Publication& sent, const Result<std::optional<ObjectInfo>>& standing) {
  if (!standing.ok() || !standing->has_value()) {
    return false;
  }
  const bool named = !sent.etag.empty() && (*standing)->etag == sent.etag;
  return named || (!sent.token.empty() && WonEarlier(**standing, {{std::string(kWriteTokenName), sent.token}}));
}

Status CompareStanding(const CallContext& context, const Publication& sent,
                       const Result<std::optional<ObjectInfo>>& standing) {
  const std::string difference = DifferenceOf(sent, **standing);
  return difference.empty() ? Status::Ok() : DamagedStatus(context, sent.key, difference, standing);
}

}  // namespace

std::string TokenOf(const WriteOptions& options) {
  return options.write_token.empty() ? RandomUid() : options.write_token;
}

bool FailedWith(const CallResult& result, FailureClass kind) {
  return result.failure && result.failure->kind == kind;
}

std::optional<Failure> CompareChecksums(const Checksum& sent, const std::optional<Checksum>& stored) {
  return Compare(FailureClass::kCorrupt, sent, stored);
}

std::optional<Failure> ComparePublished(const Checksum& sent, const std::optional<Checksum>& stored) {
  return Compare(FailureClass::kDamaged, sent, stored);
}

Task<Result<ObjectInfo>> SettlePublish(const CallContext& context, Publication sent, CallResult result) {
  const bool damaged = FailedWith(result, FailureClass::kDamaged);
  const bool refused = FailedWith(result, FailureClass::kPrecondition) || FailedWith(result, FailureClass::kMissing);
  if (!damaged && (!refused || sent.token.empty())) {
    co_return result.status;
  }
  const Result<std::optional<ObjectInfo>> standing = co_await StatObject(context, sent.key);
  if (damaged) {
    co_return DamagedStatus(context, sent.key, result.failure->message, standing);
  }
  if (!IsOurs(sent, standing)) {
    co_return result.status;
  }
  ASSAY_CO_RETURN_IF_ERROR(CompareStanding(context, sent, standing));
  co_return **standing;
}

Task<Result<std::optional<ObjectInfo>>> CheckPublished(const CallContext& context, Publication sent) {
  Result<std::optional<ObjectInfo>> standing = co_await StatObject(context, sent.key);
  if (!IsOurs(sent, standing)) {
    co_return std::optional<ObjectInfo>();
  }
  ASSAY_CO_RETURN_IF_ERROR(CompareStanding(context, sent, standing));
  co_return standing;
}

Task<Status> CheckTold(const CallContext& context, Publication sent, ObjectInfo told) {
  const std::string difference = DifferenceOf(sent, told);
  if (difference.empty()) {
    co_return Status::Ok();
  }
  const Result<std::optional<ObjectInfo>> standing = co_await StatObject(context, sent.key);
  co_return DamagedStatus(context, sent.key, difference, standing);
}

bool KeepsUpload(const WriteOptions& options, const Status& status, const std::optional<Failure>& failure) {
  const bool damaged = failure && (failure->kind == FailureClass::kCorrupt || failure->kind == FailureClass::kDamaged);
  return options.journal != nullptr && options.journal->remembers() && status.code() == ErrorCode::kIo && !damaged;
}

}  // namespace assay::storage
