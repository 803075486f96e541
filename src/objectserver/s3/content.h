// The body of PutObject and UploadPart: what the request says of it, and whether it keeps to that.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "objectserver/receive.h"
#include "objectserver/s3/request.h"

namespace assay::objectserver::s3 {

/// What the headers announce.
struct ContentPlan {
  int64_t size = 0;
  bool aws_chunked = false;
  bool signed_chunks = false;
  std::optional<std::string> payload_sha256;           ///< hexadecimal
  std::optional<std::string> md5;                      ///< raw
  std::optional<storage::ChecksumKind> checksum_kind;  ///< of the header or trailer x-amz-checksum-*
  std::optional<std::string> checksum;                 ///< raw, of the header
  std::string trailer;                                 ///< name of the checksum's trailer; empty: none
  storage::ChecksumKind etag_kind = storage::ChecksumKind::kMd5;
};

/// Reads and judges the headers. `wanted` is a checksum that is computed even when the client sends none.
std::optional<Error> PlanContent(const Request& request, bool always_md5, ContentPlan& plan);

/// What came, once it was found to be what the headers announced.
struct CheckedContent {
  Blob blob;
  std::string etag;
  Digests digests;  ///< of the announced kind, else CRC64NVME and CRC32C; MD5 too where it was computed
};

/// The entity tag of content that is written under `attributes`: what was computed of it; where AWS KMS encrypts it,
/// one that says nothing of the content, another for each write.
std::string EtagUnder(const Attributes& attributes, std::string computed);

/// The exchange that receives it. `wanted` is a checksum that is computed though the client sends another or none.
/// `done` makes the answer of content that keeps to `plan`; what does not is refused as S3 refuses it.
using ContentDone = std::function<http::ServerResponse(CheckedContent content)>;
std::unique_ptr<http::Exchange> ReceiveContent(Store& store, RequestPointer request, const ContentPlan& plan,
                                               std::optional<storage::ChecksumKind> wanted, ContentDone done);

}  // namespace assay::objectserver::s3
