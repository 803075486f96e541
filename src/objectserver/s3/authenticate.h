// Who sent a request, and whether a small body is the one that was signed.
#pragma once

#include <optional>
#include <string_view>

#include "objectserver/context.h"
#include "objectserver/s3/request.h"

namespace assay::objectserver::s3 {

/// Fills in the request's identity, or says why S3 would refuse it.
std::optional<Error> Authenticate(const Context& context, Request& request);

/// Compares a document with x-amz-content-sha256, Content-MD5 and x-amz-checksum-*, where the request carries them.
std::optional<Error> CheckDocument(const Request& request, std::string_view body);

}  // namespace assay::objectserver::s3
