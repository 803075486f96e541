// What a command line may say beside an operation's file.
#pragma once

#include <CLI/CLI.hpp>

#include "base/status.h"
#include "explore/operation/operation_file.h"

namespace assay::cli {

/// kInvalidArgument names the first option given to `app`, `assay explore`, that would not count beside `file`: its
/// operation says that itself, or has no use for it.
Status CheckOptionsBeside(const explore::OperationFile& file, const CLI::App& app);

}  // namespace assay::cli
