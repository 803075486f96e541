// What the JSON API of Google Cloud Storage sends and takes.
// Sources: "Objects" and "Error responses" in the Cloud Storage JSON API reference.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/message.h"
#include "storage/object_store.h"
#include "storage/options.h"

namespace assay::storage {

/// What headers put before the names of metadata.
inline constexpr char kGcsMetadataPrefix[] = "x-goog-meta-";

/// An object resource. Its etag here is its generation: it changes with the content alone, and conditions name it.
/// Nothing where it is that of an object with another name than `key`.
std::optional<ObjectInfo> ParseGcsObject(std::string_view key, std::string_view body);
/// list_checks.h says with which codes it refuses.
Result<ListPage> ParseGcsList(std::string_view body);

struct GcsRewrite {
  bool done = false;
  std::string token;  ///< for the next request, while not done
  std::optional<ObjectInfo> object;
};
std::optional<GcsRewrite> ParseGcsRewrite(std::string_view to, std::string_view body);

struct GcsErrorBody {
  std::string reason;  ///< "notFound"
  std::string message;
};
/// Of either API; empty where the body is no error.
GcsErrorBody ParseGcsError(std::string_view body);

/// The resource of an object to be written. `name` and `storage_class` may be empty.
std::string GcsObjectBody(const std::string& name, const std::string& content_type,
                          const std::map<std::string, std::string>& metadata, const std::string& storage_class,
                          const std::optional<Checksum>& checksum);
/// Of a compose request; sources are objects of given generations.
/// Of a request that makes a bucket.
std::string GcsBucketResource(const std::string& name, const StoreOptions& options);
std::string GcsComposeBody(std::span<const ObjectInfo> sources, const std::string& content_type,
                           const std::map<std::string, std::string>& metadata, const std::string& storage_class);

/// The checksum in "x-goog-hash: crc32c=n03x6A==,md5=...", which may come as several fields.
std::optional<Checksum> GcsHeaderChecksum(const http::Response& answer);
std::optional<Checksum> GcsHeaderMd5(const http::Response& answer);
/// What the headers of a download say; size is the whole object's. Nothing where they do not tell it.
std::optional<ObjectInfo> GcsInfoOfHeaders(const std::string& key, const http::Response& answer);

}  // namespace assay::storage
