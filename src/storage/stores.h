// The kinds of store that there are.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "storage/store_kind.h"

namespace assay::storage {

std::span<const StoreKind* const> StoreKinds();
/// Of a scheme; null where there is none.
const StoreKind* StoreKindOf(std::string_view scheme);
/// "file:///path, s3://bucket/key, ...", for messages.
std::string KnownUris();

}  // namespace assay::storage
