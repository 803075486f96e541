#include <fmt/format.h>

#include "base/files.h"
#include "samplestore/postgres/address.h"
#include "samplestore/postgres/postgres_store.h"
#include "samplestore/sample_store.h"
#include "samplestore/sqlite/sqlite_store.h"

namespace assay::samplestore {
namespace {

constexpr std::string_view kSqlite = "sqlite:///";

/// Empty: a plain path.
std::string SchemeOf(const std::string& url) {
  const size_t separator = url.find("://");
  return separator == std::string::npos ? "" : url.substr(0, separator);
}

bool IsPostgres(const std::string& scheme) {
  return scheme == "postgresql" || scheme == "postgres";
}

}  // namespace

MemoKey KeyOf(const Measurement& measurement) {
  return {measurement.parameterized_id, measurement.entity_id};
}

std::string DefaultStoreUrl() {
  return fmt::format("sqlite:///{}/measurements.db", UserDataDirectory());
}

std::string StoreName(const std::string& url) {
  if (url.empty()) {
    return DefaultStoreUrl();
  }
  const std::string scheme = SchemeOf(url);
  if (scheme.empty()) {
    return fmt::format("{}{}", kSqlite, url);
  }
  if (IsPostgres(scheme)) {
    if (const Result<PostgresAddress> address = ParsePostgresUrl(url); address.ok()) {
      return address->name;
    }
  }
  return scheme == "sqlite" ? url : scheme + "://...";
}

Result<std::unique_ptr<SampleStore>> OpenStore(const std::string& url, StoreAccess access,
                                               const StoreOptions& options) {
  if (url.empty()) {
    return OpenStore(DefaultStoreUrl(), access, options);
  }
  const std::string scheme = SchemeOf(url);
  if (IsPostgres(scheme)) {
    return OpenPostgresStore(url, access, options);
  }
  if (!scheme.empty() && (!url.starts_with(kSqlite) || url.size() == kSqlite.size())) {
    return Status::InvalidArgument(fmt::format(
        "cannot understand store '{}': a store is sqlite:///PATH or postgresql://HOST/DATABASE", StoreName(url)));
  }
  return OpenSqliteStore(url, scheme.empty() ? url : url.substr(kSqlite.size()), access, options);
}

}  // namespace assay::samplestore
