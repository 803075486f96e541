#include "storage/stores.h"

#include <algorithm>

#include "storage/file/file_kind.h"
#include "storage/gcs/gcs_kind.h"
#include "storage/memory/memory_kind.h"
#include "storage/oci/oci_kind.h"
#include "storage/s3/s3_kind.h"
#include "storage/web/web_kind.h"

namespace assay::storage {
namespace {

constexpr const StoreKind* kKinds[] = {&kFileKind, &kGcsKind, &kMemoryKind, &kOciKind, &kS3Kind, &kWebKind};

}  // namespace

std::span<const StoreKind* const> StoreKinds() {
  return kKinds;
}

const StoreKind* StoreKindOf(std::string_view scheme) {
  const auto* kind = std::ranges::find_if(kKinds, [scheme](const StoreKind* candidate) {
    return std::ranges::find(candidate->schemes, scheme) != candidate->schemes.end();
  });
  return kind == std::end(kKinds) ? nullptr : *kind;
}

std::string KnownUris() {
  std::string uris;
  for (const StoreKind* kind : kKinds) {
    uris += (uris.empty() ? "" : ", ") + std::string(kind->pattern);
  }
  return uris;
}

}  // namespace assay::storage
