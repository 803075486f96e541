// Google Cloud Storage as a kind of store: "gs://bucket/key", and the options that it alone has.
#pragma once

#include <string_view>

#include "storage/store_kind.h"

namespace assay::storage {

/// Endpoint: the options', STORAGE_EMULATOR_HOST, https://storage.googleapis.com. With the HMAC keys of
/// GCS_HMAC_ACCESS_KEY_ID and GCS_HMAC_SECRET_ACCESS_KEY a bucket is opened as a GcsXmlStore.
extern const StoreKind kGcsKind;

/// The project that is billed.
inline constexpr std::string_view kProjectOption = "project";

}  // namespace assay::storage
