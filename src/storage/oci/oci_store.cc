#include "storage/oci/oci_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/text.h"
#include "storage/auth/time_format.h"
#include "storage/gathering_writer.h"
#include "storage/list_checks.h"
#include "storage/memory_pool.h"
#include "storage/oci/oci_failure.h"
#include "storage/oci/oci_json.h"
#include "storage/store_checks.h"
#include "storage/transfer/own_write.h"
#include "storage/transfer/single_call.h"

namespace assay::storage {
namespace {

// What passes through here at a time; the writer holds parts of its own within the memory budget.
constexpr int64_t kPourBytes = 4 << 20;
// Copies of small objects are done within the first; the wait grows to the last.
constexpr double kFirstPollSeconds = 0.05;
constexpr double kLastPollSeconds = 5;

// Where no deadline is set; no copy takes as long.
constexpr double kMostCopySeconds = 24 * 3600;

Result<std::optional<ObjectInfo>> Some(Result<ObjectInfo> info) {
  return info.ok() ? Result<std::optional<ObjectInfo>>(*std::move(info)) : info.status();
}

void Sleep(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

OciStore::OciStore(std::unique_ptr<OciDialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options,
                   std::string region)
    : RemoteStore(std::move(dialect), std::move(signer), std::move(options)),
      oci_(static_cast<const OciDialect&>(RemoteStore::dialect())),
      region_(std::move(region)) {}

Result<std::unique_ptr<ObjectWriter>> OciStore::OpenWriter(const std::string& key, const WriteOptions& options) {
  if (!TakesPartsOf(key, options)) {
    ASSAY_RETURN_IF_ERROR(CheckWrite(key, options, Uri(key)));
    return std::unique_ptr<ObjectWriter>(std::make_unique<GatheringWriter>(*this, *memory_pool(), key, options));
  }
  return RemoteStore::OpenWriter(key, options);
}

Result<ObjectInfo> OciStore::Copy(const std::string& from, const std::string& to, const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckKey(to, Uri(to)));
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo source, StatExisting(*this, from, "copy", options.cancel));
  ASSAY_RETURN_IF_ERROR(CheckHeaders(options, Uri(to)));
  const WriteOptions write = WithToken(CopyOptions(source, options));
  ASSAY_ASSIGN_OR_RETURN(std::optional<ObjectInfo> copied, CopyWithin(oci_.urls().bucket(), source, to, write));
  return copied ? Result<ObjectInfo>(*std::move(copied)) : CopyThrough(std::span(&source, 1), to, write);
}

ServicePlace OciStore::place() const {
  return {fmt::format("oci {} {} {} {} {}", oci_.urls().endpoint(), oci_.urls().name_space(), region_,
                      options().profile, options().anonymous),
          oci_.urls().bucket()};
}

Result<std::optional<ObjectInfo>> OciStore::CopyFrom(ObjectStore& source, const std::string& from,
                                                     const std::string& to, const WriteOptions& options) {
  if (!SharesService(*this, source)) {
    return std::optional<ObjectInfo>();
  }
  ASSAY_RETURN_IF_ERROR(CheckKey(to, Uri(to)));
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo info, StatExisting(source, from, "copy", options.cancel));
  ASSAY_RETURN_IF_ERROR(CheckHeaders(options, Uri(to)));
  const WriteOptions write = WithToken(CopyOptions(info, options));
  return CopyWithin(source.place().bucket, info, to, write);
}

Result<std::optional<ObjectInfo>> OciStore::CopyWithin(const std::string& from, const ObjectInfo& source,
                                                       const std::string& to, const WriteOptions& options) {
  if (region_.empty() || options.content_type != source.content_type || options.expected) {
    return std::optional<ObjectInfo>();
  }
  const OciUrls from_urls(oci_.urls().endpoint(), oci_.urls().name_space(), from);
  std::string work_request;
  const CallResult result = RunOne(
      context(), fmt::format("copy oci://{}@{}/{} to", from, oci_.urls().name_space(), source.key), to,
      [&] { return oci_.Copy(from_urls, source, to, region_, options); },
      [&](http::Response& answer) -> std::optional<Failure> {
        work_request = answer.headers.Find("opc-work-request-id").value_or("");
        return work_request.empty() ? std::optional(UnreadableOciAnswer(answer)) : std::nullopt;
      },
      options.cancel);
  if (!result.status.ok()) {
    // Without the policy that lets the service act on the bucket it answers in one of these ways.
    const int status = result.failure ? result.failure->http_status : 0;
    const bool refused = status == 400 || status == 403 || status == 404 || status == 405 || status == 501;
    return refused ? Result<std::optional<ObjectInfo>>(std::nullopt)
                   : Some(OwnWriteOr(context(), result, to, source, options));
  }
  const Status copied = WaitForCopy(work_request, to, options.cancel);
  if (!copied.ok()) {
    // What made it fail may be the object that an attempt before it has made, whose answer was lost.
    const Failure failure = MakeFailure(FailureClass::kPrecondition, copied.code(), copied.message());
    return Some(OwnWriteOr(context(), {copied, failure}, to, source, options));
  }
  return Some(ProveCopy(context(), source, {.key = to, .size = source.size}, options));
}

Status OciStore::WaitForCopy(const std::string& work_request, const std::string& to, CancelFlag cancel) {
  const double seconds = options().deadline_seconds > 0 ? options().deadline_seconds : kMostCopySeconds;
  const double deadline = MonotonicSeconds() + seconds;
  for (double wait = kFirstPollSeconds;; wait = std::min(wait * 2, kLastPollSeconds)) {
    ASSAY_ASSIGN_OR_RETURN(const http::Response answer,
                           Call("copy to", to, [&] { return oci_.WorkRequest(work_request); }, cancel));
    const std::string state = OciTextAt(answer.body, "status").value_or("");
    if (state == "COMPLETED") {
      return Status::Ok();
    }
    if (state != "ACCEPTED" && state != "IN_PROGRESS") {
      return Status::Io(fmt::format("cannot copy to {}: work request {} ended as {} (see its errors, or try again)",
                                    Uri(to), work_request, state.empty() ? "nothing" : state));
    }
    if (IsCancelled(cancel)) {
      return CancelledStatus("copy to", Uri(to));
    }
    if (MonotonicSeconds() + wait > deadline) {
      return Status::Io(fmt::format("cannot copy to {}: work request {} did not end within {} (raise the deadline)",
                                    Uri(to), work_request, FormatSeconds(seconds)));
    }
    Sleep(wait);
  }
}

Status OciStore::Pour(const ObjectInfo& source, ObjectWriter& writer, std::span<std::byte> buffer, CancelFlag cancel) {
  const ReadOptions read = {.if_match = source.etag, .known = &source, .cancel = cancel};
  // Ranges have no checksums here: what goes through in several is compared at its end, before anything is published.
  std::optional<ChecksumStream> stream;
  if (source.checksum && source.size > static_cast<int64_t>(buffer.size())) {
    stream.emplace(source.checksum->kind);
  }
  for (int64_t at = 0; at < source.size;) {
    const ReadPiece piece = {at, buffer.first(std::min(buffer.size(), static_cast<size_t>(source.size - at)))};
    ASSAY_RETURN_IF_ERROR(Read(source.key, std::span(&piece, 1), read).status());
    if (stream) {
      stream->Update(piece.memory);
    }
    ASSAY_RETURN_IF_ERROR(writer.Write(piece.memory));
    at += static_cast<int64_t>(piece.memory.size());
  }
  const std::optional<Checksum> found = stream ? std::optional(stream->Finish()) : std::nullopt;
  return !found || found == source.checksum ? Status::Ok()
                                            : ChecksumMismatchStatus("read", Uri(source.key), *source.checksum, *found);
}

Result<ObjectInfo> OciStore::CopyThrough(std::span<const ObjectInfo> sources, const std::string& to,
                                         const WriteOptions& options) {
  int64_t largest = 0;
  for (const ObjectInfo& source : sources) {
    largest = std::max(largest, source.size);
  }
  // The writer has its parts of the same budget, and waits for them while this is held.
  const int64_t bytes = std::min({kPourBytes, largest, std::max<int64_t>(1, this->options().memory_budget_bytes / 4)});
  PooledMemory memory;
  if (bytes > 0) {
    ASSAY_ASSIGN_OR_RETURN(memory, memory_pool()->Take(bytes, options.cancel));
  }
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer, OpenWriter(to, options));
  for (const ObjectInfo& source : sources) {
    ASSAY_RETURN_IF_ERROR(Pour(source, *writer, memory.bytes(), options.cancel));
  }
  return writer->Commit();
}

Result<ObjectInfo> OciStore::Compose(std::span<const std::string> from, const std::string& to,
                                     const WriteOptions& options) {
  ASSAY_RETURN_IF_ERROR(CheckWrite(to, options, Uri(to)));
  ASSAY_ASSIGN_OR_RETURN(const std::vector<ObjectInfo> sources, StatExisting(*this, from, "copy", options.cancel));
  return CopyThrough(sources, to, options);
}

Result<std::string> OciStore::Presign(const std::string& key, std::string_view method, int64_t seconds,
                                      CancelFlag cancel) {
  ASSAY_RETURN_IF_ERROR(CheckKey(key, Uri(key)));
  if ((method != "GET" && method != "PUT") || seconds <= 0) {
    return Status::InvalidArgument(
        fmt::format("cannot presign {}: GET and PUT can be, for 1 second and more", Uri(key)));
  }
  const double expires = WallClockSeconds() + static_cast<double>(seconds);
  ASSAY_ASSIGN_OR_RETURN(const http::Response answer,
                         Call("presign", key, [&] { return oci_.Presign(key, method == "PUT", expires); }, cancel));
  const auto path = OciTextAt(answer.body, "accessUri");
  if (!path) {
    return DescribeFailure("presign", Uri(key), UnreadableOciAnswer(answer), 1);
  }
  return oci_.urls().endpoint() + *path;
}

Result<std::vector<UnfinishedUpload>> OciStore::ListUploads(const std::string& prefix, CancelFlag cancel) {
  std::vector<UnfinishedUpload> uploads;
  PageTokens tokens;
  std::string page;
  do {
    ASSAY_ASSIGN_OR_RETURN(const http::Response answer,
                           Call("list uploads of", prefix, [&] { return oci_.ListUploads(page); }, cancel));
    auto parsed = ParseOciUploads(answer.body);
    page = answer.headers.Find("opc-next-page").value_or("");
    const Status status = parsed.ok() && !page.empty() ? tokens.Take(page) : parsed.status();
    if (!status.ok()) {
      return DescribeFailure("list uploads of", Uri(prefix), UnreadableOciAnswer(answer, status), 1);
    }
    // The service lists those of the whole bucket.
    std::copy_if(parsed->begin(), parsed->end(), std::back_inserter(uploads),
                 [&prefix](const UnfinishedUpload& upload) { return upload.key.starts_with(prefix); });
  } while (!page.empty());
  return uploads;
}

}  // namespace assay::storage
