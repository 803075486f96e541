// How S3 names the checksum of an object, in headers and in XML.
#pragma once

#include <optional>
#include <string>

#include "http/message.h"
#include "objectserver/record.h"
#include "objectserver/s3/xml.h"

namespace assay::objectserver::s3 {

/// What an answer says of a checksum.
struct ChecksumField {
  storage::ChecksumKind kind = storage::ChecksumKind::kCrc64Nvme;
  std::string text;  ///< base64; of a composite one followed by "-" and the number of parts
  bool composite = false;
};

/// The one that S3 would report; nothing where none is recorded.
std::optional<ChecksumField> ChecksumOf(const ObjectRecord& object);
std::optional<ChecksumField> ChecksumOf(const Part& part);

/// "x-amz-checksum-crc32c: ..." and "x-amz-checksum-type: ...".
void AddChecksumHeaders(const std::optional<ChecksumField>& field, http::Headers& headers);
/// "x-goog-hash: crc32c=...,md5=...", which Google's XML dialect answers with, where those are known.
void AddGoogleHash(const Digests& digests, http::Headers& headers);
/// "<ChecksumCRC32C>...</ChecksumCRC32C>", with "<ChecksumType>" where asked.
void WriteChecksums(const std::optional<ChecksumField>& field, bool with_type, XmlWriter& xml);

/// "CRC32C", "CRC64NVME", "SHA256"...
std::string UpperName(storage::ChecksumKind kind);
/// Nothing for MD5 and for names that are no checksum.
std::optional<storage::ChecksumKind> KindOfUpperName(std::string_view name);

}  // namespace assay::objectserver::s3
