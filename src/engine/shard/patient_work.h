// Work of some ranks, of no foreseeable length, that the others wait for.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "engine/shard/shard_context.h"

namespace assay::engine {

/// Runs `work` on every rank of `groups` (null: none) and returns when all are done. It runs on a thread of its own
/// while the ranks go on meeting, so that however long it takes (a slow disk) no collective's deadline passes; a rank
/// that is lost meanwhile is noticed as ever. `work` must use no collective, and sees `device` as the current one where
/// that has an index. What it throws is thrown here; the other ranks then throw CommError. A rank whose own work is
/// under way by then ends it first, and says so on stderr: "still has to `what`".
void run_patiently(std::span<Communicator* const> groups, c10::Device device, std::string_view what,
                   const std::function<void()>& work);
/// Over the data groups of `context`.
void run_patiently(const ShardContext& context, std::string_view what, const std::function<void()>& work);

}  // namespace assay::engine
