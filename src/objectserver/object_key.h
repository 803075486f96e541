// What may be the key of an object.
#pragma once

#include <cstddef>
#include <string_view>

namespace assay::objectserver {

inline constexpr size_t kMaxKeyBytes = 1024;

/// What every real store takes: 1 to kMaxKeyBytes bytes of UTF-8 (RFC 3629: no overlong forms, no surrogates) without
/// NUL.
bool IsObjectKey(std::string_view key);

}  // namespace assay::objectserver
