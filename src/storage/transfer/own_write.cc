#include "storage/transfer/own_write.h"

#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/publish.h"

namespace assay::storage {
namespace {

std::string TokenIn(const WriteOptions& options) {
  const auto token = options.metadata.find(std::string(kWriteTokenName));
  return token == options.metadata.end() ? std::string() : token->second;
}

}  // namespace

WriteOptions WithToken(WriteOptions options) {
  options.write_token = TokenOf(options);
  options.metadata[std::string(kWriteTokenName)] = options.write_token;
  return options;
}

Result<ObjectInfo> OwnWriteOr(const CallContext& context, const CallResult& result, const std::string& key,
                              const WriteOptions& options) {
  const std::string token = TokenIn(options);
  if (token.empty() || !FailedWith(result, FailureClass::kPrecondition)) {
    return result.status;
  }
  return SettlePublish(context, {.key = key, .token = token}, result);
}

Result<ObjectInfo> AskPublished(const CallContext& context, const ObjectInfo& written, const WriteOptions& options) {
  const Publication sent = {written.key, TokenIn(options), written.size, [&written] { return written.checksum; }};
  ASSAY_ASSIGN_OR_RETURN(std::optional<ObjectInfo> standing, CheckPublished(context, sent));
  if (!standing) {
    return written;
  }
  standing->checksum = standing->checksum ? standing->checksum : written.checksum;
  return *std::move(standing);
}

}  // namespace assay::storage
