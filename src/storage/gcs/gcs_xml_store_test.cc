#include "storage/gcs/gcs_xml_store.h"

#include "base/files.h"
#include "objectserver/server.h"
#include "storage/auth/sigv4_signer.h"
#include "storage/auth/time_format.h"
#include "storage/conformance.h"
#include "storage/gcs/gcs_compose.h"
#include "storage/memory/memory_store.h"
#include "storage/served_store.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;

// A store with HMAC keys on an embedded server that checks them.
class XmlUnderTest final : public StoreUnderTest {
 public:
  explicit XmlUnderTest(std::string secret = "hush") {
    const std::string keys = folder_.path() + "/keys.yaml";
    EXPECT_THAT(WriteFileAtomically(keys, "keys: [{access_key_id: GOOG1, secret_access_key: hush}]\n"), IsOk());
    objectserver::ServeOptions serve;
    serve.buckets = {"test"};
    serve.credentials_file = keys;
    auto server = objectserver::ObjectServer::Start(serve);
    EXPECT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
    StoreOptions options;
    options.part_bytes = 5 << 20;
    auto address = S3Address::Make("test", server_->url(), "auto");
    EXPECT_THAT(address.status(), IsOk());
    const auto load = [secret] {
      return Result<AwsCredentials>(AwsCredentials{
          .access_key_id = "GOOG1", .secret_access_key = secret, .session_token = {}, .expires = 0, .source = "test"});
    };
    SigV4SignerOptions signing;
    signing.dialect = &kGoog4Hmac;
    signing.region = "auto";
    signing.service = "storage";
    auto signer = std::make_unique<SigV4Signer>(signing, load, WallClockSeconds);
    store_ = std::make_unique<GcsXmlStore>(std::make_unique<GcsXmlDialect>(*std::move(address), options),
                                           std::move(signer), options);
  }
  ObjectStore& store() override { return *store_; }
  std::optional<int64_t> bytes_sent() override { return NetworkBytesReceived(*server_); }

 private:
  TemporaryDirectory folder_ = TemporaryDirectory::Create("gcs-xml").value();
  std::unique_ptr<objectserver::ObjectServer> server_;
  std::unique_ptr<GcsXmlStore> store_;
};

TEST(GcsXmlStore, SaysWhatIsWrongWithAKey) {
  XmlUnderTest wrong("other");
  const Status status = wrong.store().List({}).status();
  EXPECT_THAT(status, HasCode(ErrorCode::kPermissionDenied));
  EXPECT_THAT(status.message(), HasSubstr("SignatureDoesNotMatch"));
  EXPECT_THAT(status.message(), testing::Not(HasSubstr("other")));
}

TEST(GcsXmlStore, ReadsByGeneration) {
  XmlUnderTest under;
  const std::string first = "first";
  const Bytes bytes = AsBytes(first);
  const auto written = under.store().Write("k", std::span(&bytes, 1), {});
  ASSERT_THAT(written.status(), IsOk());
  const auto listed = under.store().List({});
  ASSERT_THAT(listed.status(), IsOk());
  EXPECT_EQ(listed->objects.at(0).etag, written->etag);
  EXPECT_THAT(under.store().Write("k", std::span(&bytes, 1), {}).status(), IsOk());
  std::string text(5, '?');
  const ReadPiece piece = {0, std::as_writable_bytes(std::span(text))};
  EXPECT_THAT(under.store().Read("k", std::span(&piece, 1), {.if_match = written->etag}).status(),
              HasCode(ErrorCode::kFailedPrecondition));
}

TEST(GcsXmlStore, ComposesMoreThanOneRequestMay) {
  XmlUnderTest under;
  std::vector<std::string> sources;
  std::string content;
  for (int i = 0; i < 70; ++i) {
    sources.push_back("part <" + std::to_string(i) + "&>");
    const std::string text = std::to_string(i) + ',';
    const Bytes bytes = AsBytes(text);
    ASSERT_THAT(under.store().Write(sources.back(), std::span(&bytes, 1), {}).status(), IsOk());
    content += text;
  }
  const WriteOptions absent{.condition = {WriteCondition::Kind::kAbsent, ""}};
  const auto composed = under.store().Compose(sources, "whole", absent);
  ASSERT_THAT(composed.status(), IsOk());
  const auto stat = under.store().Stat("whole");
  ASSERT_TRUE(stat.ok() && stat->has_value());
  EXPECT_EQ(composed->etag, (*stat)->etag);
  EXPECT_EQ(composed->size, static_cast<int64_t>(content.size()));
  EXPECT_EQ(composed->checksum, ChecksumOf(ChecksumKind::kCrc32c, AsBytes(content)));
  EXPECT_THAT(under.store().Compose(sources, "whole", absent).status(), HasCode(ErrorCode::kFailedPrecondition));
  const auto listed = under.store().List({});
  ASSERT_THAT(listed.status(), IsOk());
  EXPECT_EQ(listed->objects.size(), sources.size() + 1) << "those between are removed";
}

TEST(ComposeInGroups, KnowsTheChecksumOfGroupsThatTellNone) {
  MemoryStore store("test");
  std::vector<std::string> sources;
  std::string content;
  for (int i = 0; i < 40; ++i) {
    sources.push_back("part " + std::to_string(i));
    const Bytes bytes = AsBytes(sources.back());
    ASSERT_THAT(store.Write(sources.back(), std::span(&bytes, 1), {}).status(), IsOk());
    content += sources.back();
  }
  ObjectInfo last;
  const auto compose = [&last](std::span<const ObjectInfo> from, const std::string& to, const WriteOptions&) {
    last = ConcatenationOf(from);
    return Result<ObjectInfo>(ObjectInfo{.key = to, .size = last.size});
  };
  ASSERT_THAT(ComposeInGroups(store, sources, "whole", {}, compose).status(), IsOk());
  EXPECT_EQ(last.checksum, ChecksumOf(ChecksumKind::kCrc32c, AsBytes(content)));
}

TEST(GcsXmlStore, ComposesWhatHasToldNoGeneration) {
  const StoreOptions options;
  const auto address = S3Address::Make("test", "http://127.0.0.1:1", "auto");
  ASSERT_THAT(address.status(), IsOk());
  const std::vector<ObjectInfo> sources = {{.key = "a", .etag = "7"}, {.key = "b"}};
  const Outgoing outgoing = GcsXmlDialect(*address, options).Compose(sources, "to", {});
  std::string document(static_cast<size_t>(outgoing.source->bytes()), '?');
  outgoing.source->Read(std::as_writable_bytes(std::span(document)));
  EXPECT_THAT(document, HasSubstr("<Component><Name>a</Name><Generation>7</Generation></Component>"
                                  "<Component><Name>b</Name></Component>"));
}

}  // namespace
}  // namespace assay::storage
