// Google's XML dialect is S3's under other names: the names.
#pragma once

#include "objectserver/s3/request.h"

namespace assay::objectserver::s3 {

/// Whether the request is one of Google's: it has headers of Google's, or is signed or authorised in Google's way.
bool SpeaksGoogle(const Request& request);

/// Adds S3's names of what Google's headers say: hashes, the payload's hash, the source of a copy. For requests whose
/// signature was checked; what S3 calls it already stays.
void AddAmazonNames(Request& request);

/// "x-goog-" or "x-amz-": what the answer's headers begin with.
std::string_view AnswerPrefix(const Request& request);

}  // namespace assay::objectserver::s3
