// What answers of S3 and of stores that speak its XML dialect say of an object in their headers.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "storage/object_store.h"
#include "storage/transfer/failure.h"

namespace assay::storage {

/// Without the quotes and the mark of a weak one.
std::string EtagOf(std::string_view value);
std::optional<int64_t> ParseCount(std::string_view digits);
/// The size behind the slash of "bytes 0-9/100"; nothing where there is none.
std::optional<int64_t> TotalOfContentRange(std::string_view value);
/// Size (of the whole object, also where a range came), etag, time, content type, and the user's metadata, whose
/// headers begin with `metadata_prefix` ("x-amz-meta-"). Nothing where the size is not told.
std::optional<ObjectInfo> ObjectInfoOf(const std::string& key, const http::Response& answer,
                                       std::string_view metadata_prefix);
/// Every store gives an object an etag: an answer without one comes from something between here and the store.
std::optional<Failure> FailureWithoutEtag(const ObjectInfo& info);
/// "bytes=0-9"
std::string RangeValue(int64_t offset, int64_t length);

}  // namespace assay::storage
