// The JSON of Oracle Cloud Infrastructure's Object Storage, and what its headers say of objects.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "storage/object_store.h"
#include "storage/transfer/dialect.h"

namespace assay::storage {

/// ListObjects; the token of the next page is its nextStartWith. list_checks.h says with which codes the readers of
/// lists refuse.
Result<ListPage> ParseOciList(std::string_view body);
/// One page of ListMultipartUploads.
Result<std::vector<UnfinishedUpload>> ParseOciUploads(std::string_view body);
/// One page of ListMultipartUploadParts, without what names the next.
Result<PartsPage> ParseOciParts(std::string_view body);
/// The text under `key` of an object; nothing where it is missing. For "uploadId", "accessUri", "status".
std::optional<std::string> OciTextAt(std::string_view body, const char* key);

struct OciErrorBody {
  std::string code;  ///< "ObjectNotFound"; empty where the body is no error
  std::string message;
};
OciErrorBody ParseOciError(std::string_view body);

/// CreateMultipartUploadDetails
/// Of a request that makes a bucket.
std::string OciBucketDetails(const std::string& name, const std::string& compartment, const std::string& storage_tier);
std::string OciCreateUploadBody(const std::string& key, const WriteOptions& options, const std::string& token,
                                const std::string& storage_tier);
/// CommitMultipartUploadDetails
std::string OciCommitBody(std::span<const UploadedPart> parts);
/// CreatePreauthenticatedRequestDetails; `expires` in seconds since 1970.
std::string OciPresignBody(const std::string& key, bool write, double expires);
/// CopyObjectDetails within a bucket.
struct OciCopy {
  std::string region;
  std::string name_space;
  std::string bucket;
  const ObjectInfo& source;
  const std::string& to;
  const WriteOptions& options;
};
std::string OciCopyBody(const OciCopy& copy);

/// opc-content-md5, of what was sent in one request.
std::optional<Checksum> OciHeaderMd5(const http::Response& answer);
/// opc-content-crc32c, else the MD5 of an object that was not uploaded in parts.
std::optional<Checksum> OciHeaderChecksum(const http::Response& answer);
/// Nothing where the headers do not tell the object's size.
std::optional<ObjectInfo> OciInfoOfHeaders(const std::string& key, const http::Response& answer);

}  // namespace assay::storage
