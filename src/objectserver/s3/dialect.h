// The S3 dialect, which is Google's XML dialect too.
#pragma once

#include <memory>

#include "objectserver/context.h"

namespace assay::objectserver::s3 {

/// Path and virtual-host style; `context` must outlive it. Signatures are checked unless its credentials are anonymous.
std::unique_ptr<Dialect> NewS3Dialect(const Context& context);

}  // namespace assay::objectserver::s3
