#include "storage/transfer/own_write.h"

#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/publish.h"

namespace assay::storage {
namespace {

Publication PublicationOf(const std::string& key, const ObjectInfo& content, const WriteOptions& options) {
  const auto token = options.metadata.find(std::string(kWriteTokenName));
  return {.key = key,
          .token = token == options.metadata.end() ? std::string() : token->second,
          .bytes = content.size,
          .checksum = [&content] { return content.checksum; }};
}

/// Whether what an answer tells of a copy settles what it holds: S3's etag of what was written in one request is made
/// of the content, and where it is not, no two are the same.
bool IsTold(const ObjectInfo& content, const ObjectInfo& copy) {
  const bool by_checksum = content.checksum && copy.checksum && content.checksum->kind == copy.checksum->kind;
  return !copy.etag.empty() && (by_checksum || copy.etag == content.etag);
}

}  // namespace

WriteOptions WithToken(WriteOptions options) {
  options.write_token = TokenOf(options);
  options.metadata[std::string(kWriteTokenName)] = options.write_token;
  return options;
}

Result<ObjectInfo> OwnWriteOr(const CallContext& context, const CallResult& result, const std::string& key,
                              const ObjectInfo& content, const WriteOptions& options) {
  const Publication sent = PublicationOf(key, content, options);
  if (sent.token.empty() || !FailedWith(result, FailureClass::kPrecondition)) {
    return result.status;
  }
  return RunHere(SettlePublish(context, sent, result));
}

Result<ObjectInfo> ProveCopy(const CallContext& context, const ObjectInfo& content, ObjectInfo copy,
                             const WriteOptions& options) {
  Publication sent = PublicationOf(copy.key, content, options);
  ASSAY_RETURN_IF_ERROR(RunHere(CheckTold(context, sent, copy)));
  if (IsTold(content, copy)) {
    return copy;
  }
  sent.etag = copy.etag;
  ASSAY_ASSIGN_OR_RETURN(std::optional<ObjectInfo> standing, RunHere(CheckPublished(context, sent)));
  return standing ? *std::move(standing) : copy;
}

}  // namespace assay::storage
