// Whether a proxy may stand between a client and a server.
#pragma once

#include <string_view>

#include "http/client.h"

namespace assay::http {

/// Of requests with `scheme` ("http" or "https"), by the options and by the environment as libcurl reads it. What
/// no_proxy excludes is for libcurl to tell.
bool MayBeProxied(const ClientOptions& options, std::string_view scheme);

}  // namespace assay::http
