#include "storage/conformance.h"

#include <cstring>

#include "storage/store_checks.h"

namespace assay::storage {

void PrintTo(const ConformanceTarget& target, std::ostream* out) {
  *out << target.name;
}

std::string TargetName(const testing::TestParamInfo<ConformanceTarget>& info) {
  return info.param.name;
}

Bytes AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

std::map<std::string, std::string> UserMetadata(const ObjectInfo& info) {
  auto metadata = info.metadata;
  metadata.erase(std::string(kWriteTokenName));
  return metadata;
}

std::string RandomContent(int64_t bytes, uint64_t seed) {
  std::string content(static_cast<size_t>(bytes), '\0');
  // Marsaglia's xorshift: quick without optimisation too, where most tests would wait for a larger generator.
  uint64_t word = 0x9e3779b97f4a7c15 * (seed + 1);
  for (size_t at = 0; at < content.size(); at += sizeof(word)) {
    word ^= word << 13;
    word ^= word >> 7;
    word ^= word << 17;
    std::memcpy(content.data() + at, &word, std::min(sizeof(word), content.size() - at));
  }
  return content;
}

namespace {

class StatusMatcher : public testing::MatcherInterface<const Status&> {
 public:
  explicit StatusMatcher(ErrorCode code) : code_(code) {}
  bool MatchAndExplain(const Status& status, testing::MatchResultListener* listener) const override {
    *listener << "which says \"" << status.message() << "\"";
    return status.code() == code_ && (code_ == ErrorCode::kOk) == status.message().empty() &&
           status.message().find('\n') == std::string::npos;
  }
  void DescribeTo(std::ostream* out) const override {
    *out << "is a status of code " << static_cast<int>(code_) << (code_ == ErrorCode::kOk ? "" : " with one line");
  }

 private:
  const ErrorCode code_;
};

}  // namespace

testing::Matcher<const Status&> HasCode(ErrorCode code) {
  return testing::MakeMatcher(new StatusMatcher(code));
}

testing::Matcher<const Status&> IsOk() {
  return HasCode(ErrorCode::kOk);
}

void ObjectStoreConformance::SetUp() {
  under_test_ = GetParam().make();
  ASSERT_NE(under_test_, nullptr) << "the store could not be made";
}

ObjectInfo ObjectStoreConformance::Put(const std::string& key, std::string_view content) {
  return Put(key, content, WriteOptions());
}

ObjectInfo ObjectStoreConformance::Put(const std::string& key, std::string_view content, const WriteOptions& options) {
  const Bytes bytes = AsBytes(content);
  auto info = store().Write(key, std::span(&bytes, 1), options);
  EXPECT_THAT(info.status(), IsOk()) << key;
  return info.ok() ? *info : ObjectInfo();
}

std::string ObjectStoreConformance::Get(const std::string& key, const ReadOptions& options) {
  std::string content;
  const auto allocate = [&](int64_t size) {
    content.resize(static_cast<size_t>(size));
    return std::as_writable_bytes(std::span(content));
  };
  const auto info = store().ReadWhole(key, allocate, options);
  return info.ok() ? content : "error: " + info.status().message();
}

bool ObjectStoreConformance::Exists(const std::string& key) {
  const auto info = store().Stat(key);
  EXPECT_THAT(info.status(), IsOk()) << key;
  return info.ok() && info->has_value();
}

std::vector<UnfinishedUpload> ObjectStoreConformance::Uploads(const std::string& prefix) {
  if (!GetParam().lists_uploads) {
    return {};
  }
  auto uploads = store().ListUploads(prefix);
  EXPECT_THAT(uploads.status(), IsOk());
  return uploads.ok() ? *std::move(uploads) : std::vector<UnfinishedUpload>();
}

ObjectStoreConformance::Listing ObjectStoreConformance::ListAll(ListOptions options) {
  Listing listing;
  do {
    const auto page = store().List(options);
    EXPECT_THAT(page.status(), IsOk());
    if (!page.ok()) {
      break;
    }
    ++listing.pages;
    EXPECT_LE(page->objects.size() + page->prefixes.size(), static_cast<size_t>(options.max_keys));
    for (const ObjectInfo& info : page->objects) {
      listing.keys.push_back(info.key);
    }
    listing.prefixes.insert(listing.prefixes.end(), page->prefixes.begin(), page->prefixes.end());
    options.page_token = page->next_page_token;
  } while (!options.page_token.empty());
  return listing;
}

}  // namespace assay::storage
