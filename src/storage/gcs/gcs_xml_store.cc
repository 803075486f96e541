#include "storage/gcs/gcs_xml_store.h"

#include <fmt/format.h>

#include <utility>

#include "storage/gathering_writer.h"
#include "storage/gcs/gcs_compose.h"
#include "storage/store_checks.h"
#include "storage/transfer/own_write.h"
#include "storage/transfer/upload.h"

namespace assay::storage {

GcsXmlStore::GcsXmlStore(std::unique_ptr<GcsXmlDialect> dialect, std::unique_ptr<Signer> signer, StoreOptions options)
    : S3Store(std::move(dialect), std::move(signer), std::move(options)),
      xml_(static_cast<const GcsXmlDialect&>(RemoteStore::dialect())) {}

Task<Result<ObjectInfo>> GcsXmlStore::WriteAsync(const std::string& key, std::span<const Bytes> buffers,
                                                 const WriteOptions& write) {
  ASSAY_CO_RETURN_IF_ERROR(CheckWrite(key, write, Uri(key)));
  if (write.condition.kind == WriteCondition::Kind::kNone) {
    co_return co_await WriteBuffers(context(), key, buffers, write);
  }
  const int64_t most = dialect().traits().max_part_bytes;
  if (TotalBytes(buffers) > most) {
    co_return Status::Unsupported(
        fmt::format("cannot write {}: with HMAC keys a conditional write is one request, of 5 GiB at most (use a "
                    "service account, or write it without a condition)",
                    Uri(key)));
  }
  StoreOptions whole = options();
  whole.part_bytes = most;
  CallContext one_request = context();
  one_request.options = &whole;
  co_return co_await WriteBuffers(one_request, key, buffers, write);
}

Result<std::unique_ptr<ObjectWriter>> GcsXmlStore::OpenWriter(const std::string& key, const WriteOptions& write) {
  if (!TakesPartsOf(key, write)) {
    ASSAY_RETURN_IF_ERROR(CheckWrite(key, write, Uri(key)));
    return std::unique_ptr<ObjectWriter>(std::make_unique<GatheringWriter>(*this, *memory_pool(), key, write));
  }
  return RemoteStore::OpenWriter(key, write);
}

std::vector<Status> GcsXmlStore::RemoveMany(std::span<const std::string> keys, CancelFlag cancel) {
  return RemoteStore::RemoveMany(keys, cancel);
}

Result<ObjectInfo> GcsXmlStore::Copy(const std::string& from, const std::string& to, const WriteOptions& write) {
  ASSAY_RETURN_IF_ERROR(CheckKey(to, Uri(to)));
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo source, StatExisting(*this, from, "copy", write.cancel));
  ASSAY_RETURN_IF_ERROR(CheckExpectedOf(write.expected, source.checksum, Uri(to)));
  const WriteOptions copy = WithToken(CopyOptions(source, write));
  ASSAY_RETURN_IF_ERROR(CheckHeaders(copy, Uri(to)));
  ObjectInfo info;
  ASSAY_RETURN_IF_ERROR(CopyOnce(s3().address().bucket(), source, to, copy, info).status);
  return ProveCopy(context(), source, std::move(info), copy);
}

Result<ObjectInfo> GcsXmlStore::ComposeOnce(std::span<const ObjectInfo> sources, const std::string& to,
                                            const WriteOptions& options) {
  const WriteOptions write = WithToken(options);
  ObjectInfo info;
  const CallResult result = RunOne(
      context(), "compose", to, [&] { return xml_.Compose(sources, to, write); },
      [&](http::Response& answer) {
        Dialect::Read<ObjectInfo> read = xml_.ReadPut(to, answer);
        info = std::move(read.value);
        return read.failure;
      },
      write.cancel);
  const ObjectInfo content = ConcatenationOf(sources);
  if (!result.status.ok()) {
    return OwnWriteOr(context(), result, to, content, write);
  }
  info.size = content.size;
  return ProveCopy(context(), content, std::move(info), write);
}

Result<ObjectInfo> GcsXmlStore::Compose(std::span<const std::string> from, const std::string& to,
                                        const WriteOptions& options) {
  return ComposeInGroups(*this, from, to, options,
                         [this](std::span<const ObjectInfo> sources, const std::string& target,
                                const WriteOptions& write) { return ComposeOnce(sources, target, write); });
}

}  // namespace assay::storage
