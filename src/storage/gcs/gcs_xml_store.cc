#include "storage/gcs/gcs_xml_store.h"

#include <fmt/format.h>

#include "storage/gathering_writer.h"
#include "storage/store_checks.h"
#include "storage/transfer/upload.h"

namespace assay::storage {

Result<ObjectInfo> GcsXmlStore::Write(const std::string& key, std::span<const Bytes> buffers,
                                      const WriteOptions& write) {
  ASSAY_RETURN_IF_ERROR(CheckKey(key, Uri(key)));
  if (write.condition.kind == WriteCondition::Kind::kNone) {
    Result<ObjectInfo> info = WriteBuffers(context(), key, buffers, write);
    return info.ok() && info->etag.empty() ? StatExisting(*this, key, "write") : info;
  }
  const int64_t most = dialect().traits().max_part_bytes;
  if (TotalBytes(buffers) > most) {
    return Status::Unsupported(
        fmt::format("cannot write {}: with HMAC keys a conditional write is one request, of 5 GiB at most (use a "
                    "service account, or write it without a condition)",
                    Uri(key)));
  }
  StoreOptions whole = options();
  whole.part_bytes = most;
  CallContext one_request = context();
  one_request.options = &whole;
  return WriteBuffers(one_request, key, buffers, write);
}

Result<std::unique_ptr<ObjectWriter>> GcsXmlStore::OpenWriter(const std::string& key, const WriteOptions& write) {
  if (write.condition.kind != WriteCondition::Kind::kNone) {
    ASSAY_RETURN_IF_ERROR(CheckKey(key, Uri(key)));
    return std::unique_ptr<ObjectWriter>(
        std::make_unique<GatheringWriter>(*this, key, write, options().memory_budget_bytes));
  }
  return RemoteStore::OpenWriter(key, write);
}

std::vector<Status> GcsXmlStore::RemoveMany(std::span<const std::string> keys) {
  return RemoteStore::RemoveMany(keys);
}

Result<ObjectInfo> GcsXmlStore::Copy(const std::string& from, const std::string& to, const WriteOptions& write) {
  ASSAY_RETURN_IF_ERROR(CheckKey(to, Uri(to)));
  ASSAY_ASSIGN_OR_RETURN(const ObjectInfo source, StatExisting(*this, from, "copy"));
  ObjectInfo info;
  ASSAY_RETURN_IF_ERROR(CopyOnce(s3().address().bucket(), source, to, CopyOptions(source, write), info).status);
  return info;
}

Result<ObjectInfo> GcsXmlStore::Compose(std::span<const std::string>, const std::string& to, const WriteOptions&) {
  return Status::Unsupported(fmt::format(
      "cannot compose {}: HMAC keys are good for the XML API only, which does not (use a service account)", Uri(to)));
}

}  // namespace assay::storage
