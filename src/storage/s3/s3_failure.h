// What S3's errors mean.
#pragma once

#include <string_view>

#include "http/message.h"
#include "storage/s3/s3_xml.h"
#include "storage/transfer/failure.h"

namespace assay::storage {

/// Of an answer that is no 2xx. `region`: the one that was used.
Failure ReadS3Failure(const http::Response& answer, std::string_view region);
/// Of an error that came inside a 200, which S3 sends when an operation fails after it has begun to answer.
Failure FailureOfS3Body(const http::Response& answer, const S3ErrorBody& body);
/// Likewise of a body that is that error, or else one that could not be read for the reason `why`.
Failure FailureOfS3Body(const http::Response& answer, const Status& why);

}  // namespace assay::storage
