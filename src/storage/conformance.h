// The contract of ObjectStore as one suite of tests that every implementation runs. A test program links the suite's
// sources and says which stores it is for:
//
//   INSTANTIATE_TEST_SUITE_P(Memory, ObjectStoreConformance, testing::Values(ConformanceTarget{...}), TargetName);
#pragma once

#include <gmock/gmock.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/object_store.h"

namespace assay::storage {

/// A store without objects, and what it needs to live.
class StoreUnderTest {
 public:
  virtual ~StoreUnderTest() = default;
  virtual ObjectStore& store() = 0;
  /// That reached its server so far; nothing where that cannot be asked.
  virtual std::optional<int64_t> bytes_sent() { return std::nullopt; }
};

/// An implementation, and where it rightly differs from the others.
struct ConformanceTarget {
  std::string name;
  std::function<std::unique_ptr<StoreUnderTest>()> make;
  bool keeps_dot_parts = true;     ///< keys such as ".." and "a/../b" (Google Cloud Storage refuses some)
  bool keeps_double_slash = true;  ///< keys such as "a//b" (some servers fold them)
  bool counts_prefixes = true;     ///< prefixes of a listing are paged with its keys (fake-gcs-server repeats them)
  bool lists_uploads = true;       ///< unfinished uploads can be listed and aborted
  bool checks_at_commit = true;    ///< a stream's condition must hold when it ends, not only when it begins
  bool lists_truly = true;         ///< else a listing may name keys that nobody asked for and nobody can tell
  bool presigns = true;            ///< needs credentials, and of OCI a server that keeps pre-authenticated requests
  int64_t large_bytes = 24 << 20;  ///< of an object that is written and read in several parts
  int64_t unfinished_bytes = 1;    ///< written before an open writer shows among the unfinished uploads
};

void PrintTo(const ConformanceTarget& target, std::ostream* out);
std::string TargetName(const testing::TestParamInfo<ConformanceTarget>& info);

class ObjectStoreConformance : public testing::TestWithParam<ConformanceTarget> {
 protected:
  void SetUp() override;

  ObjectStore& store() { return under_test_->store(); }
  std::optional<int64_t> BytesSent() { return under_test_->bytes_sent(); }
  /// Writes `content` and expects that to work.
  ObjectInfo Put(const std::string& key, std::string_view content);
  ObjectInfo Put(const std::string& key, std::string_view content, const WriteOptions& options);
  /// The whole content, or "error: ..." for what cannot be read.
  std::string Get(const std::string& key, const ReadOptions& options = {});
  bool Exists(const std::string& key);
  /// All pages of a listing joined; keys and prefixes in the order they came.
  struct Listing {
    std::vector<std::string> keys;
    std::vector<std::string> prefixes;
    int pages = 0;
  };
  Listing ListAll(ListOptions options);
  /// Unfinished ones below `prefix`; none where the target cannot list them.
  std::vector<UnfinishedUpload> Uploads(const std::string& prefix = "");
  std::vector<std::string> Keys() { return ListAll({}).keys; }

 private:
  std::unique_ptr<StoreUnderTest> under_test_;
};

Bytes AsBytes(std::string_view text);
/// Without the token that a store may have put there.
std::map<std::string, std::string> UserMetadata(const ObjectInfo& info);
/// Text that no compression or repetition could fake; the same for the same seed.
std::string RandomContent(int64_t bytes, uint64_t seed);

testing::Matcher<const Status&> IsOk();
testing::Matcher<const Status&> HasCode(ErrorCode code);

}  // namespace assay::storage
