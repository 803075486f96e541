// Conditional requests (RFC 9110 section 13) as S3 answers them.
#pragma once

#include <optional>
#include <string_view>

#include "objectserver/s3/request.h"

namespace assay::objectserver::s3 {

/// How a read ends before it begins: 304 or 412; nothing when it goes on. `prefix` is "x-amz-copy-source-" for the
/// source of a copy (where 304 is 412 too), else empty.
std::optional<Error> JudgeRead(const Request& request, const ObjectRecord& object, std::string_view prefix);

/// The condition of a write: If-None-Match: * and If-Match, or Google's x-goog-if-generation-match. An error for what
/// S3 does not implement.
std::optional<Error> ReadWriteCondition(const Request& request, Condition& condition);

/// True when a list of entity tags ("a", "b" or *) names `etag`.
bool MatchesEtag(std::string_view list, std::string_view etag);

}  // namespace assay::objectserver::s3
