// The JSON dialect of Google Cloud Storage.
#pragma once

#include <memory>
#include <string_view>

#include "objectserver/context.h"

namespace assay::objectserver::gcs {

/// True for paths of the JSON API and of the token endpoint.
bool IsGcsPath(std::string_view path);

/// `context` must outlive it. Bearer tokens are asked for unless its credentials are anonymous.
std::unique_ptr<Dialect> NewGcsDialect(const Context& context);

}  // namespace assay::objectserver::gcs
