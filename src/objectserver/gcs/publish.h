// From content that came to an object that is there.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "objectserver/gcs/request.h"
#include "objectserver/receive.h"

namespace assay::objectserver::gcs {

/// Digests that a client announces: raw, of x-goog-hash or of a resource's crc32c and md5Hash.
struct AnnouncedHashes {
  std::string crc32c;
  std::string md5;

  /// False for text that is no base64 of the right length.
  bool ReadHeader(std::string_view header);
  bool ReadResource(const nlohmann::json& resource);
  /// True where `digests` hold the same.
  bool Match(const Digests& digests) const;
};

/// What is computed while content comes: CRC32C, and what its entity tag is made of.
std::set<storage::ChecksumKind> DigestKinds(const Context& context, std::optional<int64_t> size, bool md5_sent);

/// Publishes `object`, whose key and attributes are set, and answers with its resource.
http::ServerResponse Publish(const Context& context, const Request& request, ObjectRecord object,
                             ReceivedContent content, const AnnouncedHashes& hashes);

}  // namespace assay::objectserver::gcs
