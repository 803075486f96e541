// Stores in PostgreSQL databases.
#pragma once

#include <memory>
#include <string>

#include "samplestore/sample_store.h"

namespace assay::samplestore {

/// The schema is made where it is missing, unless the store is only read.
Result<std::unique_ptr<SampleStore>> OpenPostgresStore(const std::string& url, StoreAccess access,
                                                       const StoreOptions& options);

}  // namespace assay::samplestore
