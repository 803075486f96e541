#include <fmt/format.h>

#include "base/files.h"
#include "samplestore/postgres/postgres_store.h"
#include "samplestore/sample_store.h"
#include "samplestore/sqlite/sqlite_store.h"

namespace assay::samplestore {

MemoKey KeyOf(const Measurement& measurement) {
  return {measurement.parameterized_id, measurement.entity_id};
}

std::string DefaultStoreUrl() {
  return fmt::format("sqlite:///{}/measurements.db", UserDataDirectory());
}

Result<std::unique_ptr<SampleStore>> OpenStore(const std::string& url, StoreAccess access,
                                               const StoreOptions& options) {
  if (url.empty()) {
    return OpenStore(DefaultStoreUrl(), access, options);
  }
  const size_t separator = url.find("://");
  const std::string scheme = separator == std::string::npos ? "" : url.substr(0, separator);
  if (scheme == "postgresql" || scheme == "postgres") {
    return OpenPostgresStore(url, access, options);
  }
  constexpr std::string_view kSqlite = "sqlite:///";
  if (!scheme.empty() && (!url.starts_with(kSqlite) || url.size() == kSqlite.size())) {
    return Status::InvalidArgument(
        fmt::format("cannot understand store '{}': a store is sqlite:///PATH or postgresql://HOST/DATABASE", url));
  }
  return OpenSqliteStore(url, scheme.empty() ? url : url.substr(kSqlite.size()), access, options);
}

}  // namespace assay::samplestore
