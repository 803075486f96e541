// Names of claim owners, from which another process of the same machine can tell whether the owner still runs.
#pragma once

#include <string_view>

namespace assay::samplestore {

/// Whether `owner` (as MakeClaimOwner names it) is a process that this one could see and that no longer runs. False for
/// owners on other machines, in other process namespaces, and for names of another form.
bool OwnerIsGone(std::string_view owner);

}  // namespace assay::samplestore
