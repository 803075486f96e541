// What the conformance suite runs on: each kind of store, empty, in a place of its own.
#pragma once

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "base/files.h"
#include "samplestore/sample_store.h"
#include "samplestore/sql/connection.h"

namespace assay::samplestore::testing {

enum class StoreKind { kSqlite, kPostgres };

/// A test's parameter as part of its name.
std::string NameOf(const ::testing::TestParamInfo<StoreKind>& kind);

/// An empty store: a file in a temporary folder, or a schema of the shared server.
class StoreTarget {
 public:
  static Result<std::unique_ptr<StoreTarget>> Make(StoreKind kind);

  const std::string& url() const { return url_; }
  Result<std::unique_ptr<SampleStore>> Open(StoreAccess access = StoreAccess::kReadWrite,
                                            const StoreOptions& options = {}) const;
  /// Does to the store's tables what no program of ours would.
  Status Execute(const std::string& sql) const;
  Result<int64_t> QueryInteger(const std::string& sql) const;

 private:
  StoreTarget(StoreKind kind, TemporaryDirectory folder) : kind_(kind), folder_(std::move(folder)) {}
  Result<std::unique_ptr<Connection>> Connect() const;

  StoreKind kind_;
  TemporaryDirectory folder_;
  std::string url_;
};

/// A test for each kind of store, with one opened.
class StoreTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override;
  /// Another connection to the same store.
  std::unique_ptr<SampleStore> Open(const StoreOptions& options = {}) const;

  std::unique_ptr<StoreTarget> target_;
  std::unique_ptr<SampleStore> store_;
};

/// The value, or the test program's end with the error's line.
template <typename T>
T Must(Result<T> result) {
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.status().message().c_str());
    std::abort();
  }
  return *std::move(result);
}

/// A measurement of experiment "e" with one parameter, whose targets are `speed` and `is_valid`.
Measurement MakeMeasurement(const std::string& uid, int64_t batch_size, Outcome outcome, double speed = 100);

}  // namespace assay::samplestore::testing

#define ASSAY_FOR_EACH_STORE(suite)                                                                \
  INSTANTIATE_TEST_SUITE_P(Stores, suite,                                                          \
                           ::testing::Values(::assay::samplestore::testing::StoreKind::kSqlite,    \
                                             ::assay::samplestore::testing::StoreKind::kPostgres), \
                           ::assay::samplestore::testing::NameOf)
