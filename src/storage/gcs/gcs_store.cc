#include "storage/gcs/gcs_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "storage/gcs/gcs_compose.h"
#include "storage/gcs/gcs_failure.h"
#include "storage/gcs/gcs_json.h"
#include "storage/gcs/resumable_writer.h"
#include "storage/s3/s3_xml.h"
#include "storage/s3/xml_uploads.h"
#include "storage/store_checks.h"
#include "storage/transfer/call_group.h"
#include "storage/transfer/multipart_upload.h"
#include "storage/transfer/own_write.h"
#include "storage/transfer/part_plan.h"
#include "storage/transfer/single_call.h"

namespace assay::storage {
namespace {

/// More than any copy takes: a call moves what it can in about half a minute.
constexpr int kMostRewrites = 100'000;

}  // namespace

GcsStore::GcsStore(std::unique_ptr<GcsDialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options)
    : RemoteStore(std::move(dialect), std::move(signer), std::move(options)),
      gcs_(static_cast<const GcsDialect&>(RemoteStore::dialect())) {}

bool GcsStore::TakesParts(const std::string& key) {
  if (gcs_.urls().endpoint() == kGcsEndpoint) {
    return true;
  }
  const std::lock_guard lock(mutex_);
  if (takes_parts_) {
    return *takes_parts_;
  }
  const WriteOptions plain;
  const auto begun = Call("begin the upload of", key, [&] { return gcs_.CreateUpload(key, plain, ""); });
  const auto upload = begun.ok() ? ParseUploadId(begun->body) : std::nullopt;
  if (upload) {
    RunHere(GiveUpParts(context(), key, *upload));
  }
  const ErrorCode code = begun.status().code();
  const bool unknown =
      code == ErrorCode::kNotFound || code == ErrorCode::kUnsupported || code == ErrorCode::kInvalidArgument;
  if (!begun.ok() && !unknown) {
    return true;  // the write itself will say what is wrong
  }
  takes_parts_ = upload.has_value();
  return *takes_parts_;
}

Task<Result<ObjectInfo>> GcsStore::WriteAsync(const std::string& key, std::span<const Bytes> buffers,
                                              const WriteOptions& options) {
  ASSAY_CO_RETURN_IF_ERROR(CheckWrite(key, options, Uri(key)));
  ASSAY_CO_ASSIGN_OR_RETURN(const PartPlan plan, PlanUpload(TotalBytes(buffers), this->options(), gcs_.traits()));
  if (plan.parts == 1 || TakesPartsOf(key, options)) {
    co_return co_await RemoteStore::WriteAsync(key, buffers, options);
  }
  co_return co_await WriteInSession(context(), gcs_, key, buffers, options);
}

Result<std::unique_ptr<ObjectWriter>> GcsStore::OpenWriter(const std::string& key, const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckWrite(key, options, Uri(key)));
  if (!TakesPartsOf(key, options)) {
    return std::unique_ptr<ObjectWriter>(std::make_unique<ResumableWriter>(context(), gcs_, key, options));
  }
  return RemoteStore::OpenWriter(key, options);
}

bool GcsStore::TakesPartsOf(const std::string& key, const WriteOptions& options) {
  return options.condition.kind == WriteCondition::Kind::kNone && TakesParts(key);
}

Result<ObjectInfo> GcsStore::Copy(const std::string& from, const std::string& to, const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckKey(to, Uri(to)));
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo source, StatExisting(*this, from, "copy", options.cancel));
  ASSAY_RETURN_IF_ERROR(CheckExpectedOf(options.expected, source.checksum, Uri(to)));
  bool refused = false;
  return Rewrite(gcs_.urls().bucket(), source, to, options, refused);
}

ServicePlace GcsStore::place() const {
  return {fmt::format("gs {} {}", gcs_.urls().endpoint(), options().anonymous), gcs_.urls().bucket()};
}

Result<std::optional<ObjectInfo>> GcsStore::CopyFrom(ObjectStore& source, const std::string& from,
                                                     const std::string& to, const WriteOptions& options) {
  if (!SharesService(*this, source) || options.expected) {
    return std::optional<ObjectInfo>();
  }
  ASSAY_RETURN_IF_ERROR(CheckKey(to, Uri(to)));
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo info, StatExisting(source, from, "copy", options.cancel));
  bool refused = false;
  Result<ObjectInfo> copied = Rewrite(source.place().bucket, info, to, options, refused);
  if (refused) {
    return std::optional<ObjectInfo>();
  }
  ASSAY_RETURN_IF_ERROR(copied.status());
  return std::optional(*std::move(copied));
}

Result<ObjectInfo> GcsStore::Rewrite(const std::string& bucket, const ObjectInfo& source, const std::string& to,
                                     const WriteOptions& options, bool& refused) {
  // What the source says goes out as JSON, which holds whatever it is.
  ASSAY_RETURN_IF_ERROR(CheckHeaders(options, Uri(to)));
  WriteOptions write = CopyOptions(source, options);
  write.metadata = MetadataOf(write);
  const std::string resource =
      GcsObjectBody("", write.content_type, write.metadata, this->options().storage_class, std::nullopt);
  const double deadline = DeadlineOf(this->options());
  GcsRewrite rewrite;
  for (int calls = 0; !rewrite.done; ++calls) {
    if (calls == kMostRewrites) {
      return Status::Io(fmt::format("cannot copy gs://{}/{} to {}: the service has not ended it after {} calls", bucket,
                                    source.key, Uri(to), calls));
    }
    const CallResult result = RunOne(
        context(), fmt::format("copy gs://{}/{} to", bucket, source.key), to,
        [&] { return gcs_.Rewrite(bucket, source, to, write.condition, resource, rewrite.token); },
        [&](http::Response& answer) -> std::optional<Failure> {
          auto parsed = ParseGcsRewrite(to, answer.body);
          if (!parsed) {
            return UnreadableAnswer(answer);
          }
          rewrite = *std::move(parsed);
          return std::nullopt;
        },
        options.cancel, deadline);
    if (!result.status.ok()) {
      refused = result.failure && result.failure->kind == FailureClass::kDenied;
      return OwnWriteOr(context(), result, to, source, write);
    }
  }
  return ProveCopy(context(), source, *std::move(rewrite.object), write);
}

Result<ObjectInfo> GcsStore::ComposeOnce(std::span<const ObjectInfo> sources, const std::string& to,
                                         const WriteOptions& options) {
  std::optional<ObjectInfo> info;
  const CallResult result = RunOne(
      context(), "compose", to, [&] { return gcs_.Compose(sources, to, options); },
      [&](http::Response& answer) -> std::optional<Failure> {
        info = ParseGcsObject(to, answer.body);
        return info ? std::nullopt : std::optional(UnreadableAnswer(answer));
      },
      options.cancel);
  const ObjectInfo content = ConcatenationOf(sources);
  return result.status.ok() ? ProveCopy(context(), content, *std::move(info), options)
                            : OwnWriteOr(context(), result, to, content, options);
}

Result<ObjectInfo> GcsStore::Compose(std::span<const std::string> from, const std::string& to,
                                     const WriteOptions& options) {
  return ComposeInGroups(*this, from, to, options,
                         [this](std::span<const ObjectInfo> sources, const std::string& target,
                                const WriteOptions& write) { return ComposeOnce(sources, target, write); });
}

Result<std::string> GcsStore::Presign(const std::string& key, std::string_view method, int64_t seconds, CancelFlag) {
  return PresignUrl(key, gcs_.urls().XmlObject(key), method, seconds);
}

Result<std::vector<UnfinishedUpload>> GcsStore::ListUploads(const std::string& prefix, CancelFlag cancel) {
  return ListXmlUploads(context(), prefix, cancel, [&](const std::string& after_key, const std::string& after_id) {
    return gcs_.ListUploads(prefix, after_key, after_id);
  });
}

}  // namespace assay::storage
