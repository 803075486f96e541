// The XML of S3: what is sent, and what comes back.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/object_store.h"
#include "storage/transfer/dialect.h"

namespace assay::storage {

/// The body of an error: `code` is empty where it is none.
struct S3ErrorBody {
  std::string code;
  std::string message;
  std::string request_id;
  std::string region;    ///< the right one, of AuthorizationHeaderMalformed
  std::string endpoint;  ///< the right one, of PermanentRedirect
};
S3ErrorBody ParseS3Error(std::string_view body);

std::optional<std::string> ParseUploadId(std::string_view body);

/// Of CompleteMultipartUploadResult, CopyObjectResult and CopyPartResult: etag and checksum. Nothing for other text.
std::optional<ObjectInfo> ParseResultBody(std::string_view body);

/// The readers of lists refuse what cannot be followed to its end: list_checks.h says with which codes.
Result<ListPage> ParseListPage(std::string_view body);

struct UploadsPage {
  std::vector<UnfinishedUpload> uploads;
  std::string next_key;  ///< both empty: the last page
  std::string next_upload_id;
};
Result<UploadsPage> ParseUploads(std::string_view body);

Result<PartsPage> ParseParts(std::string_view body);

/// What became of one key.
struct DeleteOutcome {
  std::string key;
  bool removed = false;
  std::string code{};  ///< of the error, where it was not
  std::string message{};
};
/// Errors behind what was removed.
std::optional<std::vector<DeleteOutcome>> ParseDeleteResult(std::string_view body);

std::string CompleteUploadBody(std::span<const UploadedPart> parts);
/// Whether a key arrives as it is where XML names it: of control characters and of U+FFFE and U+FFFF some may not stand
/// there, and a CR is read as a LF.
bool FitsXml(std::string_view key);
/// Of those keys that FitsXml() lets stand there.
/// Of a request that makes a bucket.
std::string CreateBucketBody(const std::string& region);
std::string DeleteBody(std::span<const std::string> keys);

/// "CRC64NVME", as S3 names it in XML and in x-amz-checksum-algorithm.
std::string S3ChecksumName(ChecksumKind kind);

}  // namespace assay::storage
