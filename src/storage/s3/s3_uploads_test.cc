// Parts on their way: second copies of slow ones, and how many of them many writers hold at a time.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/text.h"
#include "http/server.h"
#include "storage/auth/anonymous_signer.h"
#include "storage/conformance.h"
#include "storage/s3/s3_store.h"
#include "storage/transfer/object_headers.h"
#include "storage/transfer/observer.h"

namespace assay::storage {
namespace {

constexpr int64_t kPartBytes = 64 << 10;

/// Uploads in parts. An etag says nothing of its content: each copy of a part that lands has another.
class PartsOnlyS3 {
 public:
  /// Of the copy `copy` (from 1) of a part: what happens to its answer. True: it lands last, whatever comes after it.
  using OnPart = std::function<bool(int number, int copy, http::ServerResponse& answer)>;

  /// Of parts of up to `checksummed_bytes` a checksum is told, when they come and in lists.
  explicit PartsOnlyS3(OnPart on_part, size_t checksummed_bytes = std::numeric_limits<size_t>::max())
      : on_part_(std::move(on_part)), checksummed_bytes_(checksummed_bytes) {
    auto server = http::Server::Start(
        {}, http::WholeBody([this](const http::RequestHead& head, std::string_view body) { return Answer(head, body); },
                            64 * kMiB));
    EXPECT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
  }
  std::string url() const { return server_->url(); }
  /// What was put together; empty before that.
  std::string content() const {
    const std::lock_guard lock(mutex_);
    return content_;
  }

 private:
  struct Standing {
    std::string etag;
    std::string content;
    int copies = 0;
    bool last = false;  // no later copy takes its place
  };
  using Parts = std::map<int, Standing>;

  http::ServerResponse Answer(const http::RequestHead& head, std::string_view body) {
    const std::lock_guard lock(mutex_);
    if (head.target.find("upload") == std::string::npos) {
      return http::TextResponse(403, "");  // the object may not be read
    }
    if (head.target.ends_with("uploads=")) {
      return http::TextResponse(200, "<InitiateMultipartUploadResult><UploadId>" + std::to_string(++begun_) +
                                         "</UploadId></InitiateMultipartUploadResult>");
    }
    Parts& parts = uploads_[NumberOf(head.target, "uploadId=")];
    if (head.method == "PUT") {
      return TakePart(parts, static_cast<int>(NumberOf(head.target, "partNumber=")), body);
    }
    if (head.method == "GET") {
      return http::TextResponse(200, ListOf(parts));
    }
    return head.method == "DELETE" ? http::TextResponse(204, "") : Complete(parts, body);
  }

  static int64_t NumberOf(const std::string& target, const std::string& name) {
    const size_t begin = target.find(name) + name.size();
    return *ParseCount(target.substr(begin, target.find('&', begin) - begin));
  }

  http::ServerResponse TakePart(Parts& parts, int number, std::string_view body) const {
    Standing& part = parts[number];
    ++part.copies;
    const std::string etag = "e" + std::to_string(number) + "-" + std::to_string(part.copies);
    http::ServerResponse answer;
    answer.headers.Add("ETag", '"' + etag + '"');
    if (body.size() <= checksummed_bytes_) {
      answer.headers.Add("x-amz-checksum-crc64nvme", ChecksumOf(ChecksumKind::kCrc64Nvme, AsBytes(body)).Base64());
    }
    const bool last = on_part_(number, part.copies, answer);
    if (!part.last) {
      part.etag = etag;
      part.content = body;
    }
    part.last = part.last || last;
    return answer;
  }

  std::string ListOf(const Parts& parts) const {
    std::string list;
    for (const auto& [number, part] : parts) {
      list += "<Part><PartNumber>" + std::to_string(number) + "</PartNumber><ETag>\"" + part.etag + "\"</ETag><Size>" +
              std::to_string(part.content.size()) + "</Size>";
      if (part.content.size() <= checksummed_bytes_) {
        list += "<ChecksumCRC64NVME>" + ChecksumOf(ChecksumKind::kCrc64Nvme, AsBytes(part.content)).Base64() +
                "</ChecksumCRC64NVME>";
      }
      list += "</Part>";
    }
    return "<ListPartsResult><IsTruncated>false</IsTruncated>" + list + "</ListPartsResult>";
  }

  http::ServerResponse Complete(const Parts& parts, std::string_view body) {
    std::string content;
    for (const auto& [number, part] : parts) {
      if (body.find('"' + part.etag + '"') == std::string_view::npos) {
        return http::TextResponse(400, "<Error><Code>InvalidPart</Code><Message>not found</Message></Error>");
      }
      content += part.content;
    }
    content_ = std::move(content);
    return http::TextResponse(200,
                              "<CompleteMultipartUploadResult><ETag>\"whole\"</ETag></CompleteMultipartUploadResult>");
  }

  const OnPart on_part_;
  const size_t checksummed_bytes_;
  mutable std::mutex mutex_;
  int64_t begun_ = 0;                 // guarded by mutex_
  std::map<int64_t, Parts> uploads_;  // guarded by mutex_
  std::string content_;               // guarded by mutex_
  std::unique_ptr<http::Server> server_;
};

/// Takes smaller parts than S3 does.
class SmallPartsDialect : public S3Dialect {
 public:
  SmallPartsDialect(S3Address address, const StoreOptions& options)
      : S3Dialect(std::move(address), "us-east-1", options, Traits(address, options)) {}

 private:
  static DialectTraits Traits(const S3Address& address, const StoreOptions& options) {
    DialectTraits traits = S3Dialect(address, "us-east-1", options).traits();
    traits.min_part_bytes = 1;
    return traits;
  }
};

class ReissueObserver : public RequestObserver {
 public:
  void OnRequest(const RequestRecord& record) override { reissues_ += record.reissue; }
  int reissues() const { return reissues_; }

 private:
  std::atomic<int> reissues_ = 0;
};

StoreOptions OptionsFor(const std::string& url) {
  StoreOptions options;
  options.endpoint = url;
  options.part_bytes = kPartBytes;
  options.connections = 4;
  return options;
}

std::unique_ptr<S3Store> OpenSmallParts(const StoreOptions& options) {
  const auto address = S3Address::Make("bucket", options.endpoint, "us-east-1");
  EXPECT_THAT(address.status(), IsOk());
  return std::make_unique<S3Store>(std::make_unique<SmallPartsDialect>(*address, options),
                                   std::make_unique<AnonymousSigner>(), options);
}

TEST(S3UploadsTest, ASlowCopyThatLandsAfterTheSecondOneBreaksNothing) {
  PartsOnlyS3 server([](int number, int copy, http::ServerResponse& answer) {
    const bool slow = number == 40 && copy == 1;
    answer.delay_seconds = slow ? 60 : 0;
    return slow;
  });
  StoreOptions options = OptionsFor(server.url());
  const auto observer = std::make_shared<ReissueObserver>();
  options.observer = observer;
  const auto store = OpenSmallParts(options);
  const std::string content = RandomContent(40 * kPartBytes, 1);
  const Bytes bytes = AsBytes(content);
  EXPECT_THAT(store->Write("k", std::span(&bytes, 1), {}).status(), IsOk());
  EXPECT_GE(observer->reissues(), 1);
  EXPECT_TRUE(server.content() == content);
}

// Nothing can be sent again of what a stream has let go of: two copies of which nothing tells which one stands would
// leave an upload that cannot be completed.
TEST(S3UploadsTest, ASlowPartOfAStreamIsSentTwiceOnlyWhereAListProvesTheCopyThatStands) {
  // Where checksums are told of small parts alone, the small one at the end proves nothing of the others.
  for (const size_t checksummed_bytes : {std::numeric_limits<size_t>::max(), size_t{10}, size_t{0}}) {
    const bool proven = checksummed_bytes > kPartBytes;
    PartsOnlyS3 server(
        [proven](int number, int copy, http::ServerResponse& answer) {
          const bool slow = number == 40 && copy == 1;
          answer.delay_seconds = !slow ? 0 : proven ? 60 : 0.5;
          return slow;
        },
        checksummed_bytes);
    StoreOptions options = OptionsFor(server.url());
    const auto observer = std::make_shared<ReissueObserver>();
    options.observer = observer;
    const auto store = OpenSmallParts(options);
    const std::string content = RandomContent(40 * kPartBytes + 10, 1);
    const auto writer = *store->OpenWriter("k", {});
    ASSERT_THAT(writer->Write(AsBytes(content)), IsOk());
    EXPECT_THAT(writer->Commit().status(), IsOk());
    EXPECT_EQ(observer->reissues() > 0, proven);
    EXPECT_TRUE(server.content() == content);
  }
}

/// Parts between their coming to the server and their answers' coming to the client, which holds their memory until
/// then. Of a part that is sent twice the first request counts.
class PartsOnTheirWay : public RequestObserver {
 public:
  void OnPart(int copy) {
    const std::lock_guard lock(mutex_);
    most_ = std::max(most_, count_ += copy == 1 ? 1 : 0);
  }
  void OnRequest(const RequestRecord& record) override {
    const std::lock_guard lock(mutex_);
    count_ -= record.method == "PUT" && record.attempt == 1 && !record.reissue ? 1 : 0;
  }
  int most() const {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  mutable std::mutex mutex_;
  int count_ = 0;  // guarded by mutex_
  int most_ = 0;   // guarded by mutex_
};

TEST(S3UploadsTest, ManyWritersKeepToOneBudget) {
  constexpr int kWriters = 4;
  constexpr int kBudgetParts = 6;
  const auto parts = std::make_shared<PartsOnTheirWay>();
  PartsOnlyS3 server([&parts](int, int copy, http::ServerResponse& answer) {
    parts->OnPart(copy);
    answer.delay_seconds = 0.05;
    return false;
  });
  StoreOptions options = OptionsFor(server.url());
  options.observer = parts;
  options.connections = 32;
  options.memory_budget_bytes = kBudgetParts * kPartBytes;
  const auto store = OpenSmallParts(options);
  const std::string content = RandomContent(10 * kPartBytes, 1);
  // One that is opened while others hold all of it takes its first part all the same.
  std::vector<std::unique_ptr<ObjectWriter>> writers;
  for (int i = 0; i < kWriters; ++i) {
    auto writer = store->OpenWriter("k", {});
    ASSERT_THAT(writer.status(), IsOk());
    writers.push_back(*std::move(writer));
  }
  std::vector<std::thread> threads;
  for (auto& opened : writers) {
    threads.emplace_back([&content, writer = std::move(opened)] {
      EXPECT_THAT(writer->Write(AsBytes(content)), IsOk());
      EXPECT_THAT(writer->Commit().status(), IsOk());
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_TRUE(server.content() == content);
  EXPECT_GE(parts->most(), 2);
  EXPECT_LE(parts->most(), kBudgetParts);
}

}  // namespace
}  // namespace assay::storage
