// Names that survive a crash.
#pragma once

#include <string>

#include "base/status.h"

namespace assay {

/// Makes the names in `folder` durable: those that were given, changed or taken away. A file system that cannot sync a
/// folder (EINVAL, EROFS) keeps renames as durable as it gets.
Status SyncFolder(const std::string& folder);
/// Likewise, of an open folder; `name` is for the error.
Status SyncFolder(int fd, const std::string& name);

}  // namespace assay
