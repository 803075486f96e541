// Names of claim owners, from which another process of the same machine can tell whether the owner still runs, and so
// whether its claim counts.
#pragma once

#include <string>
#include <string_view>

#include "samplestore/lease_clock.h"

namespace assay::samplestore {

/// Whether `owner` (as MakeClaimOwner names it) is a process that this one could see and that no longer runs. False for
/// owners on other machines, in other process namespaces, and for names of another form.
bool OwnerIsGone(std::string_view owner);

/// Whether a claim of `owner` until `expires_at` of `epoch` counts: its lease runs, and its owner may.
bool ClaimCounts(std::string_view owner, std::string_view epoch, double expires_at, const StoreTime& now);

/// "process 123 on HOST", or the name as it is where it has another form.
std::string DescribeOwner(std::string_view owner);

}  // namespace assay::samplestore
