// A server of pages as verbs start one.
#pragma once

#include <memory>

#include "base/status.h"
#include "serve/page_server.h"

namespace assay::cli {

/// Starts it, and says on standard error what opens it, and what next.
Result<std::unique_ptr<serve::PageServer>> StartPageServer(serve::PageServerOptions options);

}  // namespace assay::cli
