// What the store remembers of buckets, objects and unfinished uploads. Plain data.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "objectserver/blob.h"
#include "objectserver/digests.h"

namespace assay::objectserver {

/// What a writer says of an object beside its content.
struct Attributes {
  std::string content_type;
  /// Fields that come back as they were sent: Cache-Control, Content-Disposition, Content-Encoding, Content-Language,
  /// Expires; and what was said of encryption.
  std::map<std::string, std::string> system;
  std::map<std::string, std::string> metadata;  ///< the user's, names in lower case
  std::string storage_class = "STANDARD";
};

/// A part of an upload, and what remains known of it in the finished object.
struct Part {
  int number = 0;
  int64_t size = 0;
  std::string etag;
  Digests digests;
  double modified = 0;  ///< seconds since 1970
  Blob blob;            ///< empty in finished objects, whose own blob holds the content
};

struct ObjectRecord {
  std::string key;
  Blob blob;
  std::string etag;  ///< without quotes
  uint64_t generation = 0;
  uint64_t metageneration = 1;
  double created = 0;
  double modified = 0;
  Attributes attributes;
  Digests digests;                                      ///< of the whole content
  std::optional<storage::ChecksumKind> composite_kind;  ///< of the checksum of checksums
  std::string composite_digest;
  std::vector<Part> parts;  ///< of objects made of parts
  std::string upload_id;    ///< the upload that made it
  int64_t size() const { return blob.size(); }
};

struct Upload {
  std::string id;
  std::string key;
  double initiated = 0;
  Attributes attributes;
  std::optional<storage::ChecksumKind> checksum_kind;  ///< that its parts must carry
  bool composite_checksum = false;
  std::map<std::string, std::string> notes;  ///< what a dialect wants to find again
  std::map<int, Part> parts;
};

struct BucketRecord {
  std::string name;
  double created = 0;
  std::string region;
};

}  // namespace assay::objectserver
