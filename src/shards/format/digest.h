// Hashes of shard files, as an index names them.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::shards {

/// Those that mosaicml-streaming knows everywhere: of hashlib (md5, sha1, sha2, sha3, blake2) and of xxhash.
std::vector<std::string> HashNames();

/// Refuses a hash that is not known, one that comes twice, and names that are not sorted, as streaming does.
Status CheckHashNames(std::span<const std::string> names);

/// The digest of the concatenation of `parts` in lower-case hexadecimal, as Python's hexdigest() gives it.
Result<std::string> HashHex(std::string_view name, std::span<const std::span<const std::byte>> parts);

}  // namespace assay::shards
