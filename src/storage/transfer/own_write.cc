#include "storage/transfer/own_write.h"

#include <fmt/format.h>

#include <utility>

#include "storage/store_checks.h"
#include "storage/transfer/publish.h"

namespace assay::storage {
namespace {

class EtagWriter : public ObjectWriter {
 public:
  EtagWriter(const CallContext& context, std::unique_ptr<ObjectWriter> inner)
      : context_(context), inner_(std::move(inner)) {}
  Status Write(Bytes bytes) override { return inner_->Write(bytes); }
  Result<ObjectInfo> Commit() override { return WithEtag(context_, inner_->Commit()); }
  void Abort() override { inner_->Abort(); }

 private:
  CallContext context_;
  std::unique_ptr<ObjectWriter> inner_;
};

}  // namespace

Result<ObjectInfo> OwnWriteOr(const CallContext& context, const CallResult& result, const std::string& key,
                              const WriteOptions& options) {
  const auto token = options.metadata.find(std::string(kWriteTokenName));
  if (token == options.metadata.end() || !FailedWith(result, FailureClass::kPrecondition)) {
    return result.status;
  }
  return SettlePublish(context, {.key = key, .token = token->second}, result);
}

Result<ObjectInfo> AskPublished(const CallContext& context, const ObjectInfo& written) {
  ASSAY_ASSIGN_OR_RETURN(std::optional<ObjectInfo> standing, StatObject(context, written.key));
  if (!standing) {
    return MissingObjectStatus("write", context.dialect->Uri(written.key));
  }
  std::optional<Failure> difference =
      written.checksum ? ComparePublished(*written.checksum, standing->checksum) : std::nullopt;
  if (standing->size != written.size) {
    difference = MakeFailure(FailureClass::kDamaged, ErrorCode::kIo,
                             fmt::format("{} bytes were written, the store has {}", written.size, standing->size));
  }
  if (difference) {
    return SettlePublish(context, {.key = written.key}, {Status::Io(difference->message), difference});
  }
  standing->checksum = standing->checksum ? standing->checksum : written.checksum;
  return *std::move(standing);
}

Result<ObjectInfo> WithEtag(const CallContext& context, Result<ObjectInfo> written) {
  return written.ok() && written->etag.empty() ? AskPublished(context, *written) : written;
}

std::unique_ptr<ObjectWriter> WithEtag(const CallContext& context, std::unique_ptr<ObjectWriter> writer) {
  return std::make_unique<EtagWriter>(context, std::move(writer));
}

}  // namespace assay::storage
