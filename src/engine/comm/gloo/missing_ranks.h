// Which rank a failed collective over a network waited for.
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <string>
#include <vector>

namespace c10d {
class Store;
}

namespace assay::engine {

/// One line about a collective at `where` that failed with `reason`. A network says that a connection broke or that
/// time ran out, not who is to blame: every rank that sees a failure says so in the store, and those that have not
/// within two seconds are the missing ones. The first line that names some is kept in the store, and every rank of
/// every group ends with it. `rank` and `members`, which are those of the group that failed, are ranks of the world,
/// whose `store` it is.
std::string describe_loss(const c10::intrusive_ptr<c10d::Store>& store, int rank, const std::vector<int>& members,
                          const std::string& where, const std::string& reason);

}  // namespace assay::engine
