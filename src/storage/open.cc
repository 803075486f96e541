#include "storage/open.h"

#include <fmt/format.h>

#include <utility>

#include "base/terminal.h"
#include "http/message.h"
#include "storage/file/file_kind.h"
#include "storage/stores.h"

namespace assay::storage {
namespace {

/// What goes into headers of every request.
Status CheckValues(const StoreOptions& options) {
  auto values = options.own;
  values.insert({{"region", options.region},
                 {"storage_class", options.storage_class},
                 {"encryption_key_id", options.encryption_key_id}});
  for (const auto& [name, value] : values) {
    if (!http::IsHeaderValue(value)) {
      return Status::InvalidArgument(
          fmt::format("the option {} is '{}', which holds a control character (take it out)", name, Escaped(value)));
    }
  }
  return Status::Ok();
}

}  // namespace

Result<StoreUri> ParseBucketUri(std::string_view scheme, std::string_view rest) {
  const size_t slash = rest.find('/');
  StoreUri parsed{std::string(scheme), std::string(rest.substr(0, slash)),
                  slash == std::string_view::npos ? std::string() : std::string(rest.substr(slash + 1))};
  if (parsed.bucket.empty()) {
    return Status::InvalidArgument(fmt::format("'{0}://{1}' names no bucket: write {0}://bucket/key", scheme, rest));
  }
  // It goes into addresses: one with a '?' would cut them short.
  if (!http::IsHeaderValue(parsed.bucket) || parsed.bucket.find_first_of(" \t?#%") != std::string::npos) {
    return Status::InvalidArgument(fmt::format("'{}' can be no bucket's name (check it)", Escaped(parsed.bucket)));
  }
  return parsed;
}

Result<StoreUri> ParseStoreUri(std::string_view uri) {
  const size_t scheme_end = uri.find("://");
  if (uri.empty()) {
    return Status::InvalidArgument(fmt::format("an empty URI names nothing: write a path or one of {}", KnownUris()));
  }
  if (scheme_end == std::string_view::npos) {
    return SplitPath(uri);
  }
  const std::string_view scheme = uri.substr(0, scheme_end);
  const StoreKind* kind = StoreKindOf(scheme);
  if (kind == nullptr) {
    return Status::InvalidArgument(
        fmt::format("'{}' begins with no scheme that is known: use a path or one of {}", uri, KnownUris()));
  }
  return kind->parse(scheme, uri.substr(scheme_end + 3));
}

Result<StoreAndKey> OpenStore(std::string_view uri, const StoreOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(StoreUri parsed, ParseStoreUri(uri));
  const StoreKind& kind = *StoreKindOf(parsed.scheme);
  ASSAY_RETURN_IF_ERROR(CheckValues(options));
  ASSAY_ASSIGN_OR_RETURN(std::unique_ptr<ObjectStore> store, kind.open(parsed, options));
  return StoreAndKey{std::move(store), std::move(parsed.key)};
}

}  // namespace assay::storage
