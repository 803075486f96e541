#include "storage/s3/s3_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "storage/list_checks.h"
#include "storage/s3/s3_compose.h"
#include "storage/s3/s3_failure.h"
#include "storage/s3/xml_uploads.h"
#include "storage/store_checks.h"
#include "storage/transfer/call_group.h"
#include "storage/transfer/own_write.h"
#include "storage/transfer/part_plan.h"
#include "storage/transfer/single_call.h"

namespace assay::storage {
namespace {

constexpr int64_t kMaxCopyBytes = int64_t{5} << 30;
constexpr size_t kKeysPerDelete = 1000;

std::string SchemeOf(const std::string& uri) {
  return uri.substr(0, uri.find("://") + 3);
}

/// Of a batch: not removed yet, and nameable.
bool IsLeft(const std::string& key, const std::optional<Status>& end) {
  return !end && FitsXml(key);
}

std::vector<std::string> KeysLeft(std::span<const std::string> keys, std::span<const std::optional<Status>> ends) {
  std::vector<std::string> left;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (IsLeft(keys[i], ends[i])) {
      left.push_back(keys[i]);
    }
  }
  return left;
}

/// Nothing where the key is gone.
std::optional<Failure> FailureOf(const http::Response& answer, const DeleteOutcome& outcome) {
  if (outcome.removed) {
    return std::nullopt;
  }
  Failure failure = FailureOfS3Body(answer, {outcome.code, outcome.message, "", "", ""});
  return failure.kind == FailureClass::kMissing ? std::nullopt : std::optional(std::move(failure));
}

/// The store could not remove a key just then: it is named again.
bool IsJustThen(const Failure& failure) {
  return failure.kind == FailureClass::kThrottle || failure.kind == FailureClass::kBusy ||
         failure.store_code == "InternalError";
}

}  // namespace

S3Store::S3Store(std::unique_ptr<S3Dialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options)
    : RemoteStore(std::move(dialect), std::move(signer), std::move(options)),
      s3_(static_cast<const S3Dialect&>(RemoteStore::dialect())),
      probe_(context(), [this](const ObjectInfo& source, const std::string& to, const WriteOptions& write) {
        ObjectInfo ignored;
        return CopyOnce(s3_.address().bucket(), source, to, write, ignored);
      }) {}

Status S3Store::KeepsCondition(std::initializer_list<Publishing> ways, const WriteOptions& options,
                               const std::string& key) {
  const Conditions conditions = dialect().traits().conditions;
  if (options.condition.kind == WriteCondition::Kind::kNone || conditions == Conditions::kKept) {
    return Status::Ok();
  }
  if (conditions == Conditions::kNotKept) {
    return ConditionNotKeptStatus(options.condition, Uri(key));
  }
  for (const Publishing way : ways) {
    ASSAY_RETURN_IF_ERROR(probe_.Check(way, options, key));
  }
  return Status::Ok();
}

Task<Result<ObjectInfo>> S3Store::WriteAsync(const std::string& key, std::span<const Bytes> buffers,
                                             const WriteOptions& options) {
  ASSAY_CO_RETURN_IF_ERROR(CheckWrite(key, options, Uri(key)));
  ASSAY_CO_ASSIGN_OR_RETURN(const PartPlan plan, PlanUpload(TotalBytes(buffers), this->options(), dialect().traits()));
  if (plan.parts == 1) {
    ASSAY_CO_RETURN_IF_ERROR(KeepsCondition({Publishing::kPut}, options, key));
  }
  // What is gone on with has parts of the size that it had.
  if (plan.parts > 1 || options.resume != nullptr) {
    ASSAY_CO_RETURN_IF_ERROR(KeepsCondition({Publishing::kComplete}, options, key));
  }
  co_return co_await RemoteStore::WriteAsync(key, buffers, options);
}

Result<std::unique_ptr<ObjectWriter>> S3Store::OpenWriter(const std::string& key, const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckWrite(key, options, Uri(key)));
  ASSAY_RETURN_IF_ERROR(KeepsCondition({}, options, key));
  return RemoteStore::OpenWriter(key, options);
}

RemotePartWriter::MaySend S3Store::MaySend(const std::string& key, const WriteOptions& options) {
  return [this, key, options](bool in_parts) {
    return KeepsCondition({in_parts ? Publishing::kComplete : Publishing::kPut}, options, key);
  };
}

std::vector<Status> S3Store::WriteMany(std::span<const ObjectWrite> writes, const WriteOptions& options) {
  // Those that are written in parts go through Write(), which asks for itself. What was found is remembered.
  const int64_t most = PlanDownload(0, this->options()).part_bytes;
  std::vector<Status> statuses(writes.size());
  std::vector<ObjectWrite> sent;
  Status unreachable;  // is not tried again for each
  for (size_t i = 0; i < writes.size(); ++i) {
    const ObjectWrite& write = writes[i];
    const WriteOptions& own = write.OptionsOr(options);
    const bool asks = own.condition.kind != WriteCondition::Kind::kNone &&
                      static_cast<int64_t>(write.content.size()) <= most &&
                      CheckWrite(write.key, own, Uri(write.key)).ok();
    if (asks) {
      statuses[i] = unreachable.ok() ? KeepsCondition({Publishing::kPut}, own, write.key) : unreachable;
    }
    if (statuses[i].ok()) {
      sent.push_back(write);
    } else if (statuses[i].code() == ErrorCode::kIo) {
      unreachable = statuses[i];
    }
  }
  const std::vector<Status> ends = RemoteStore::WriteMany(sent, options);
  auto end = ends.begin();
  for (Status& status : statuses) {
    // Those that were refused keep their own.
    status = status.ok() ? *end++ : status;
  }
  return statuses;
}

std::optional<Failure> S3Store::TakeOutcomes(const http::Response& answer, std::span<const DeleteOutcome> outcomes,
                                             std::span<const std::string> keys,
                                             std::span<std::optional<Status>> ends) const {
  const std::vector<std::string> left = KeysLeft(keys, ends);
  const std::set<std::string_view> asked(left.begin(), left.end());
  std::map<std::string_view, const DeleteOutcome*> told;
  for (const DeleteOutcome& outcome : outcomes) {
    if (!asked.contains(outcome.key)) {
      return UnreadableAnswer(answer, ContradictoryList("it tells of '" + outcome.key + "', which was not asked for"));
    }
    told[outcome.key] = &outcome;
  }
  std::optional<Failure> again;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!asked.contains(keys[i])) {
      continue;
    }
    const auto of_key = told.find(keys[i]);
    std::optional<Failure> failure =
        of_key == told.end() ? UnreadableAnswer(answer, ContradictoryList("it does not say what became of this key"))
                             : FailureOf(answer, *of_key->second);
    if (failure && IsJustThen(*failure)) {
      again = std::move(failure);
    } else {
      ends[i] = failure ? DescribeFailure("remove", s3_.Uri(keys[i]), *failure, 1) : Status::Ok();
    }
  }
  return again;
}

std::unique_ptr<StoreCall> S3Store::RemoveCall(std::span<const std::string> keys,
                                               std::span<std::optional<Status>> ends) {
  return std::make_unique<FunctionCall>(
      fmt::format("remove {} objects of which the first is", keys.size()), keys.front(),
      [this, keys, ends] { return s3_.RemoveBatch(KeysLeft(keys, ends)); },
      [this, keys, ends](http::Response& answer) -> std::optional<Failure> {
        const auto outcomes = ParseDeleteResult(answer.body);
        return outcomes ? TakeOutcomes(answer, *outcomes, keys, ends)
                        : std::optional(FailureOfS3Body(answer, ParseS3Error(answer.body)));
      },
      [this, keys, ends](const CallResult& result) {
        for (size_t i = 0; i < keys.size(); ++i) {
          if (!result.status.ok() && IsLeft(keys[i], ends[i])) {
            ends[i] = DescribeFailure("remove", s3_.Uri(keys[i]), *result.failure, result.attempts);
          }
        }
      });
}

std::vector<std::optional<Status>> S3Store::RemoveTogether(std::span<const std::string> keys, CancelFlag cancel) {
  std::vector<std::optional<Status>> ends(keys.size());
  CallGroup calls(context(), {.in_flight = ConnectionsOf(options()), .cancel = cancel, .stop_at_failure = false});
  for (size_t begin = 0; begin < keys.size(); begin += kKeysPerDelete) {
    const size_t count = std::min(kKeysPerDelete, keys.size() - begin);
    const auto batch = keys.subspan(begin, count);
    if (std::ranges::any_of(batch, FitsXml)) {
      calls.Add(RemoveCall(batch, std::span(ends).subspan(begin, count)));
    }
  }
  // Each call has told its own end, also when all were given up.
  [[maybe_unused]] const Status all = calls.WaitAll();
  return ends;
}

std::vector<Status> S3Store::RemoveMany(std::span<const std::string> keys, CancelFlag cancel) {
  if (keys.size() <= 1) {
    return RemoteStore::RemoveMany(keys, cancel);
  }
  for (const std::string& key : keys) {
    if (const Status status = CheckKey(key, Uri(key)); !status.ok()) {
      return std::vector<Status>(keys.size(), status);
    }
  }
  const std::vector<std::optional<Status>> ends = RemoveTogether(keys, cancel);
  std::vector<std::string> left;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!ends[i]) {
      left.push_back(keys[i]);
    }
  }
  const std::vector<Status> alone = RemoteStore::RemoveMany(left, cancel);
  auto next = alone.begin();
  std::vector<Status> statuses;
  for (const std::optional<Status>& end : ends) {
    statuses.push_back(end ? *end : *next++);
  }
  return statuses;
}

Result<ObjectInfo> S3Store::Copy(const std::string& from, const std::string& to, const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckWrite(to, options, Uri(to)));
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo source, StatExisting(*this, from, "copy", options.cancel));
  ASSAY_RETURN_IF_ERROR(CheckExpectedOf(options.expected, source.checksum, Uri(to)));
  const WriteOptions write = CopyOptions(source, options);
  ASSAY_RETURN_IF_ERROR(CheckHeaders(write, Uri(to)));
  const Status kept = KeepsCondition({Publishing::kCopy}, write, to);
  if (source.size > kMaxCopyBytes || !kept.ok()) {
    return ComposeOf(std::span(&source, 1), to, write);
  }
  ObjectInfo info;
  ASSAY_RETURN_IF_ERROR(CopyOnce(s3_.address().bucket(), source, to, write, info).status);
  return ProveCopy(context(), source, std::move(info), write);
}

Result<ObjectInfo> S3Store::ComposeOf(std::span<const ObjectInfo> sources, const std::string& to,
                                      const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(KeepsCondition({Publishing::kPut, Publishing::kComplete}, options, to));
  return S3Compose(context(), s3_, to, options).Run(sources);
}

CallResult S3Store::CopyOnce(const std::string& bucket, const ObjectInfo& source, const std::string& to,
                             const WriteOptions& options, ObjectInfo& info) {
  WriteOptions write = options;
  write.metadata = MetadataOf(options);
  const CallResult result = RunOne(
      context(), fmt::format("copy {}{}/{} to", SchemeOf(Uri("")), bucket, source.key), to,
      [&] { return s3_.Copy(bucket, source.key, source.etag, to, write); },
      [&](http::Response& answer) {
        Dialect::Read<ObjectInfo> read = s3_.ReadCopy(answer);
        info = std::move(read.value);
        info.key = to;
        info.size = source.size;
        return read.failure;
      },
      options.cancel);
  if (result.status.ok()) {
    return result;
  }
  Result<ObjectInfo> own = OwnWriteOr(context(), result, to, source, write);
  if (!own.ok()) {
    return {own.status(), result.failure};
  }
  info = *std::move(own);
  return {};
}

ServicePlace S3Store::place() const {
  return {fmt::format("{}{} {} {} {}", SchemeOf(Uri("")), s3_.address().service(), s3_.region(), options().profile,
                      options().anonymous),
          s3_.address().bucket()};
}

Result<std::optional<ObjectInfo>> S3Store::CopyFrom(ObjectStore& source, const std::string& from, const std::string& to,
                                                    const WriteOptions& options) {
  if (!SharesService(*this, source)) {
    return std::optional<ObjectInfo>();
  }
  ASSAY_RETURN_IF_ERROR(CheckKey(to, Uri(to)));
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo info, StatExisting(source, from, "copy", options.cancel));
  const WriteOptions write = CopyOptions(info, options);
  ASSAY_RETURN_IF_ERROR(CheckHeaders(write, Uri(to)));
  const Status kept = KeepsCondition({Publishing::kCopy}, write, to);
  if (info.size > kMaxCopyBytes || options.expected || !kept.ok()) {
    return std::optional<ObjectInfo>();
  }
  ObjectInfo copy;
  const CallResult result = CopyOnce(source.place().bucket, info, to, write, copy);
  // Who may read here and write there need not be allowed to let the service do both.
  const bool refused = result.failure && (result.failure->kind == FailureClass::kDenied ||
                                          result.failure->code == ErrorCode::kUnsupported);
  if (refused) {
    return std::optional<ObjectInfo>();
  }
  ASSAY_RETURN_IF_ERROR(result.status);
  ASSAY_ASSIGN_OR_RETURN(copy, ProveCopy(context(), info, std::move(copy), write));
  return std::optional(std::move(copy));
}

Result<ObjectInfo> S3Store::Compose(std::span<const std::string> from, const std::string& to,
                                    const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckWrite(to, options, Uri(to)));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<ObjectInfo> sources, StatExisting(*this, from, "copy", options.cancel));
  return ComposeOf(sources, to, options);
}

Result<std::string> S3Store::Presign(const std::string& key, std::string_view method, int64_t seconds, CancelFlag) {
  return PresignUrl(key, s3_.address().ObjectUrl(key), method, seconds);
}

Result<std::vector<UnfinishedUpload>> S3Store::ListUploads(const std::string& prefix, CancelFlag cancel) {
  return ListXmlUploads(context(), prefix, cancel, [&](const std::string& after_key, const std::string& after_id) {
    return s3_.ListUploads(prefix, after_key, after_id);
  });
}

}  // namespace assay::storage
