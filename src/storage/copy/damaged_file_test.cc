// A file that has rotted on the disk is not sent on: its recorded checksum is compared before anything is published.
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/files.h"
#include "objectserver/server.h"
#include "storage/copy/copy_object.h"
#include "storage/file/file_store.h"
#include "storage/open.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kPartBytes = int64_t{5} << 20;

struct DamageCase {
  std::string name;
  std::string target;  ///< a URI; empty: another folder
  bool in_parts = false;
  bool if_absent = false;
};

class DamagedFileTest : public testing::TestWithParam<DamageCase> {
 protected:
  void SetUp() override {
    objectserver::ServeOptions serve;
    serve.buckets = {"test"};
    server_ = *objectserver::ObjectServer::Start(serve);
    StoreOptions options;
    options.endpoint = server_->url();
    options.region = "us-east-1";
    options.anonymous = true;
    options.part_bytes = kPartBytes;
    const std::string uri = GetParam().target.empty() ? "file://" + folder_.path() + "/to/" : GetParam().target;
    target_ = OpenStore(uri, options)->store;
    options_.journal_folder = folder_.path() + "/journals";
    options_.write.condition.kind = GetParam().if_absent ? WriteCondition::Kind::kAbsent : WriteCondition::Kind::kNone;
  }

  /// Written through the store, and then changed so that nothing but the checksum tells.
  void PutDamaged() {
    const std::string content(static_cast<size_t>(GetParam().in_parts ? 2 * kPartBytes + 1 : 100), '0');
    const Bytes bytes = std::as_bytes(std::span(content));
    ASSERT_TRUE(files_.Write("k", std::span(&bytes, 1), {}).ok());
    const std::string path = folder_.path() + "/from/k";
    const auto time = std::filesystem::last_write_time(path);
    std::fstream(path, std::ios::in | std::ios::out) << "1";
    std::filesystem::last_write_time(path, time);
  }

  TemporaryDirectory folder_ = *TemporaryDirectory::Create("assay-damaged");
  FileStore files_{{folder_.path() + "/from", false}};
  std::unique_ptr<objectserver::ObjectServer> server_;
  std::shared_ptr<ObjectStore> target_;
  ObjectCopyOptions options_;
};

TEST_P(DamagedFileTest, IsNotSentOn) {
  PutDamaged();
  const auto copied = CopyObject(files_, "k", *target_, "k", options_);
  ASSERT_FALSE(copied.ok());
  EXPECT_EQ(copied.status().code(), ErrorCode::kIo);
  EXPECT_THAT(copied.status().message(), HasSubstr("cannot read " + files_.Uri("k") + ": the content is damaged"));
  EXPECT_FALSE((*target_->Stat("k")).has_value());
  EXPECT_THAT(*target_->ListUploads(""), IsEmpty());
  EXPECT_TRUE(!FileExists(options_.journal_folder) || std::filesystem::is_empty(options_.journal_folder));
}

TEST_P(DamagedFileTest, IsSentOnByWhoDoesNotWantToKnow) {
  PutDamaged();
  options_.verify = false;
  EXPECT_TRUE(CopyObject(files_, "k", *target_, "k", options_).ok());
}

INSTANTIATE_TEST_SUITE_P(Copy, DamagedFileTest,
                         testing::Values(DamageCase{"file", ""}, DamageCase{"file_absent", "", false, true},
                                         DamageCase{"s3", "s3://test/"}, DamageCase{"s3_parts", "s3://test/", true},
                                         DamageCase{"gs", "gs://test/"}, DamageCase{"gs_parts", "gs://test/", true},
                                         DamageCase{"gs_session", "gs://test/", true, true},
                                         DamageCase{"oci_parts", "oci://test@assay/", true}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace assay::storage
