// What the errors of Google Cloud Storage mean for retries and for people.
#pragma once

#include "http/message.h"
#include "storage/transfer/failure.h"

namespace assay::storage {

/// Of an answer that is not a 2xx.
Failure ReadGcsFailure(const http::Response& answer);

}  // namespace assay::storage
