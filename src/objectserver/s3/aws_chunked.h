// Bodies in S3's aws-chunked form: chunks that may be signed, and trailers that carry a checksum.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "objectserver/receive.h"
#include "objectserver/s3/content.h"

namespace assay::objectserver::s3 {

/// Makes the answer from the content, and from the trailer that the plan names.
using ChunkedDone =
    std::function<http::ServerResponse(Result<ReceivedContent> content, const std::optional<std::string>& trailer)>;

/// Data goes from the socket to its place; the lines between chunks go through a small buffer. A broken frame or a
/// wrong signature refuses the request.
std::unique_ptr<http::Exchange> MakeAwsChunkedExchange(ContentReceiver receiver, RequestPointer request,
                                                       const ContentPlan& plan, ChunkedDone done);

}  // namespace assay::objectserver::s3
