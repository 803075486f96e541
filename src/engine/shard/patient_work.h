// Work of some ranks, of no foreseeable length, that the others wait for.
#pragma once

#include <functional>

#include "engine/shard/shard_context.h"

namespace assay::engine {

/// Runs `work` on every rank of the data groups of `context` and returns when all are done. It runs on a thread of its
/// own while the ranks go on meeting, so that however long it takes (a slow disk) no collective's deadline passes; a
/// rank that is lost meanwhile is noticed as ever. `work` must use no collective. What it throws is thrown here; the
/// other ranks then throw CommError.
void run_patiently(const ShardContext& context, const std::function<void()>& work);

}  // namespace assay::engine
