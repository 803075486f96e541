// What the errors of Oracle Cloud Infrastructure's Object Storage mean for retries and for people.
#pragma once

#include "http/message.h"
#include "storage/transfer/failure.h"

namespace assay::storage {

/// Of an answer that is not a 2xx.
Failure ReadOciFailure(const http::Response& answer);
/// Of a 2xx whose body or headers are not what they should be.
Failure UnreadableOciAnswer(const http::Response& answer);
/// Likewise where its reader said why, as of UnreadableAnswer().
Failure UnreadableOciAnswer(const http::Response& answer, const Status& why);

}  // namespace assay::storage
