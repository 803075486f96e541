#include "storage/open.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/terminal.h"
#include "http/message.h"
#include "storage/file/file_store.h"
#include "storage/gcs/gcs_store.h"
#include "storage/memory/memory_store.h"
#include "storage/oci/oci_store.h"
#include "storage/s3/s3_store.h"

namespace assay::storage {
namespace {

using StoreResult = Result<std::unique_ptr<ObjectStore>>;

StoreResult OpenFolder(const std::string& folder, const StoreOptions& options) {
  FileStoreOptions file;
  file.root = folder;
  return std::unique_ptr<ObjectStore>(std::make_unique<FileStore>(std::move(file)));
}

StoreResult OpenMemory(const std::string& name, const StoreOptions& options) {
  return std::unique_ptr<ObjectStore>(std::make_unique<MemoryStore>(name));
}

struct SchemeRow {
  std::string_view scheme;
  StoreResult (*open)(const std::string& bucket, const StoreOptions& options);
};

constexpr SchemeRow kSchemes[] = {
    {"file", OpenFolder}, {"gs", OpenGcs}, {"mem", OpenMemory}, {"oci", OpenOci}, {"s3", OpenS3},
};

const SchemeRow* FindScheme(std::string_view scheme) {
  const auto* row = std::find_if(std::begin(kSchemes), std::end(kSchemes),
                                 [scheme](const SchemeRow& candidate) { return candidate.scheme == scheme; });
  return row == std::end(kSchemes) ? nullptr : row;
}

std::string KnownSchemes() {
  std::string names;
  for (const SchemeRow& row : kSchemes) {
    names += fmt::format("{}{}://", names.empty() ? "" : ", ", row.scheme);
  }
  return names;
}

/// What goes into headers and addresses of every request; a bucket's name with a '?' would cut its address short.
Status CheckNames(const StoreUri& uri, const StoreOptions& options) {
  const bool remote = uri.scheme != "file" && uri.scheme != "mem";
  if (remote && (!http::IsHeaderValue(uri.bucket) || uri.bucket.find_first_of(" \t?#%") != std::string::npos)) {
    return Status::InvalidArgument(fmt::format("'{}' can be no bucket's name (check it)", Escaped(uri.bucket)));
  }
  const std::pair<std::string_view, const std::string&> values[] = {
      {"region", options.region},         {"storage_class", options.storage_class},
      {"encryption", options.encryption}, {"encryption_key_id", options.encryption_key_id},
      {"project", options.project},       {"compartment", options.compartment}};
  for (const auto& [name, value] : values) {
    if (!http::IsHeaderValue(value)) {
      return Status::InvalidArgument(
          fmt::format("the option {} is '{}', which holds a control character (take it out)", name, Escaped(value)));
    }
  }
  return Status::Ok();
}

/// A path's folder and last component.
StoreUri SplitPath(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) {
    return {"file", ".", std::string(path)};
  }
  return {"file", slash == 0 ? "/" : std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

}  // namespace

Result<StoreUri> ParseStoreUri(std::string_view uri) {
  const size_t scheme_end = uri.find("://");
  if (uri.empty()) {
    return Status::InvalidArgument(
        fmt::format("an empty URI names nothing: write a path or one of {}", KnownSchemes()));
  }
  if (scheme_end == std::string_view::npos) {
    return SplitPath(uri);
  }
  const std::string_view scheme = uri.substr(0, scheme_end);
  const std::string_view rest = uri.substr(scheme_end + 3);
  if (FindScheme(scheme) == nullptr) {
    return Status::InvalidArgument(
        fmt::format("'{}' begins with no scheme that is known: use a path or one of {}", uri, KnownSchemes()));
  }
  if (scheme == "file") {
    if (!rest.starts_with('/')) {
      return Status::InvalidArgument(
          fmt::format("'{}' names a host: a file's URI has three slashes, file:///path", uri));
    }
    return SplitPath(rest);
  }
  const size_t slash = rest.find('/');
  StoreUri parsed{std::string(scheme), std::string(rest.substr(0, slash)),
                  slash == std::string_view::npos ? std::string() : std::string(rest.substr(slash + 1))};
  if (parsed.bucket.empty()) {
    return Status::InvalidArgument(fmt::format("'{}' names no bucket: write {}://bucket/key", uri, scheme));
  }
  return parsed;
}

Result<StoreAndKey> OpenStore(std::string_view uri, const StoreOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(StoreUri parsed, ParseStoreUri(uri));
  ASSAY_RETURN_IF_ERROR(CheckNames(parsed, options));
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<ObjectStore> store, FindScheme(parsed.scheme)->open(parsed.bucket, options));
  return StoreAndKey{std::move(store), std::move(parsed.key)};
}

}  // namespace assay::storage
