// Stores in SQLite files.
#pragma once

#include <memory>
#include <string>

#include "samplestore/sample_store.h"

namespace assay::samplestore {

Result<std::unique_ptr<SampleStore>> OpenSqliteStore(const std::string& url, const std::string& path,
                                                     StoreAccess access, const StoreOptions& options);

}  // namespace assay::samplestore
