#include "storage/memory/memory_kind.h"

#include <memory>

#include "storage/memory/memory_store.h"

namespace assay::storage {
namespace {

constexpr std::string_view kMemorySchemes[] = {"mem"};

Result<std::unique_ptr<ObjectStore>> OpenMemory(const StoreUri& uri, const StoreOptions&) {
  return std::unique_ptr<ObjectStore>(std::make_unique<MemoryStore>(uri.bucket));
}

}  // namespace

constinit const StoreKind kMemoryKind = {.name = "mem",
                                         .schemes = kMemorySchemes,
                                         .pattern = "mem://name/key",
                                         .parse = ParseBucketUri,
                                         .open = OpenMemory,
                                         .is_remote = false};

}  // namespace assay::storage
