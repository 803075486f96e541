// Where other machines find this one.
#pragma once

#include <string>

namespace assay::engine {

/// The numeric address that this machine has towards `host`, where all ranks meet: of a name that stands for this
/// machine itself, which systems often resolve to a loopback address, that of its first network that is up. Empty where
/// there is none.
std::string own_address_towards(const std::string& host, int port);

}  // namespace assay::engine
