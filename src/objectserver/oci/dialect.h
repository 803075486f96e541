// The native dialect of OCI Object Storage.
#pragma once

#include <memory>
#include <string_view>

#include "objectserver/context.h"

namespace assay::objectserver::oci {

/// True for paths of the native API: "/n" is too short to be a bucket of another dialect.
bool IsOciPath(std::string_view path);

/// `context` must outlive it. Signatures are checked unless its credentials are anonymous.
std::unique_ptr<Dialect> NewOciDialect(const Context& context);

}  // namespace assay::objectserver::oci
