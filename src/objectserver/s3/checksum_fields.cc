#include "objectserver/s3/checksum_fields.h"

#include <algorithm>
#include <cctype>

namespace assay::objectserver::s3 {
namespace {

using storage::ChecksumKind;

// An object has one checksum in S3's eyes. Others may be known from other dialects.
constexpr ChecksumKind kByPreference[] = {ChecksumKind::kSha256, ChecksumKind::kSha1, ChecksumKind::kCrc64Nvme,
                                          ChecksumKind::kCrc32c, ChecksumKind::kCrc32};

std::optional<ChecksumField> Preferred(const Digests& digests) {
  for (const ChecksumKind kind : kByPreference) {
    if (const auto found = digests.find(kind); found != digests.end()) {
      return ChecksumField{kind, storage::Base64Encode(found->second), false};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ChecksumField> ChecksumOf(const ObjectRecord& object) {
  if (object.composite_kind) {
    return ChecksumField{*object.composite_kind,
                         storage::Base64Encode(object.composite_digest) + '-' + std::to_string(object.parts.size()),
                         true};
  }
  return Preferred(object.digests);
}

std::optional<ChecksumField> ChecksumOf(const Part& part) {
  return Preferred(part.digests);
}

void AddChecksumHeaders(const std::optional<ChecksumField>& field, http::Headers& headers) {
  if (field) {
    headers.Add("x-amz-checksum-" + std::string(storage::NameOf(field->kind)), field->text);
    headers.Add("x-amz-checksum-type", field->composite ? "COMPOSITE" : "FULL_OBJECT");
  }
}

void AddGoogleHash(const Digests& digests, http::Headers& headers) {
  std::string hash;
  for (const ChecksumKind kind : {ChecksumKind::kCrc32c, ChecksumKind::kMd5}) {
    if (const auto found = digests.find(kind); found != digests.end()) {
      hash.append(hash.empty() ? "" : ",").append(storage::NameOf(kind)).append("=");
      hash.append(storage::Base64Encode(found->second));
    }
  }
  if (!hash.empty()) {
    headers.Add("x-goog-hash", hash);
  }
}

void WriteChecksums(const std::optional<ChecksumField>& field, bool with_type, XmlWriter& xml) {
  if (!field) {
    return;
  }
  xml.Leaf("Checksum" + UpperName(field->kind), field->text);
  if (with_type) {
    xml.Leaf("ChecksumType", field->composite ? "COMPOSITE" : "FULL_OBJECT");
  }
}

std::string UpperName(ChecksumKind kind) {
  std::string name(storage::NameOf(kind));
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name;
}

std::optional<ChecksumKind> KindOfUpperName(std::string_view name) {
  const auto kind = storage::ChecksumKindOf(name);
  return kind == ChecksumKind::kMd5 ? std::nullopt : kind;
}

}  // namespace assay::objectserver::s3
