// Uploads in parts to a store that says strange things of what it took and of what it published.
#include "storage/transfer/publish.h"

#include <atomic>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "storage/lying_store.h"

namespace assay::storage {
namespace {

using testing::HasSubstr;

constexpr char kTokenHeader[] = "opc-meta-assay-write-token";
constexpr char kChecksumHeader[] = "opc-content-crc32c";

std::string Crc32cOf(std::string_view text) {
  return ChecksumOf(ChecksumKind::kCrc32c, AsBytes(std::string(text))).Base64();
}

http::ServerResponse OciError(int status, const std::string& code) {
  return http::TextResponse(status, R"({"code": ")" + code + R"(", "message": ""})");
}

StoreOptions SmallParts() {
  StoreOptions options;
  options.part_bytes = 1000;
  return options;
}

/// One bucket of OCI with one upload; a script may change each answer after the deed is done.
class ScriptedUpload {
 public:
  using Script = std::function<void(const http::RequestHead& head, http::ServerResponse& response)>;

  explicit ScriptedUpload(Script script)
      : script_(std::move(script)),
        store_(
            "oci://test@assay/",
            [this](const http::RequestHead& head, std::string_view body) {
              http::ServerResponse response = Answer(head, body);
              script_(head, response);
              return response;
            },
            SmallParts()) {}

  Status Write() {
    const Bytes bytes = AsBytes(content_);
    return store_.store().Write("k", std::span(&bytes, 1), {}).status();
  }
  /// Bytes of the parts that come change on their way.
  void DamageParts() { damages_ = true; }
  bool published() const { return published_; }
  int parts_taken() const { return parts_taken_; }
  int aborts() const { return aborts_; }

  static bool IsPart(const http::RequestHead& head) { return head.method == "PUT"; }
  static bool IsCompletion(const http::RequestHead& head) {
    return head.method == "POST" && head.target.find("uploadId=") != std::string::npos;
  }

 private:
  http::ServerResponse Answer(const http::RequestHead& head, std::string_view body) {
    const std::lock_guard lock(mutex_);
    if (IsPart(head)) {
      return TakePart(head, std::string(body));
    }
    if (IsCompletion(head)) {
      return Publish();
    }
    if (head.method == "POST") {
      token_ = ParseJson(body, "request")->at("metadata").at(kTokenHeader);
      return http::TextResponse(200, R"({"uploadId": "1"})");
    }
    if (head.method == "HEAD") {
      return Standing();
    }
    aborts_ += head.method == "DELETE" ? 1 : 0;
    return OciError(404, "NoSuchUpload");
  }

  http::ServerResponse TakePart(const http::RequestHead& head, std::string body) {
    ++parts_taken_;
    body[0] ^= damages_ ? 1 : 0;
    if (head.headers.Find(kChecksumHeader).value_or(Crc32cOf(body)) != Crc32cOf(body)) {
      return OciError(400, "UnmatchedContentMD5");
    }
    http::ServerResponse response;
    response.headers.Add("etag", "part");
    response.headers.Add(kChecksumHeader, Crc32cOf(body));
    return response;
  }

  http::ServerResponse Publish() {
    if (published_) {
      return OciError(404, "NoSuchUpload");
    }
    published_ = true;
    return Standing();
  }

  http::ServerResponse Standing() {
    if (!published_) {
      return OciError(404, "ObjectNotFound");
    }
    http::ServerResponse response;
    response.headers.Add("etag", "whole");
    response.headers.Add(kTokenHeader, token_);
    response.headers.Add(kChecksumHeader, Crc32cOf(content_));
    response.head_content_length = static_cast<int64_t>(content_.size());
    return response;
  }

  const std::string content_ = RandomContent(2500, 1);
  Script script_;
  std::mutex mutex_;
  std::string token_;  // guarded by mutex_
  std::atomic<bool> damages_ = false;
  std::atomic<bool> published_ = false;
  std::atomic<int> parts_taken_ = 0;
  std::atomic<int> aborts_ = 0;
  LyingStore store_;
};

TEST(ScriptedUpload, IsPublished) {
  ScriptedUpload upload([](const http::RequestHead&, http::ServerResponse&) {});
  EXPECT_THAT(upload.Write(), IsOk());
  EXPECT_EQ(upload.parts_taken(), 3);
}

// The request goes out again on another connection, below the store's own attempts, and finds no upload any more.
TEST(ScriptedUpload, ThatWasPublishedAndWhoseAnswerWasLostIsOurs) {
  std::atomic<int> completions = 0;
  ScriptedUpload upload([&completions](const http::RequestHead& head, http::ServerResponse& response) {
    if (ScriptedUpload::IsCompletion(head) && completions++ == 0) {
      response.cut = http::CutKind::kReset;
    }
  });
  EXPECT_THAT(upload.Write(), IsOk());
  EXPECT_EQ(completions, 2);
  EXPECT_EQ(upload.parts_taken(), 3);
  EXPECT_EQ(upload.aborts(), 0);
}

TEST(ScriptedUpload, ThatWasPublishedAndIsSaidToHoldOtherPartsIsOurs) {
  ScriptedUpload upload([](const http::RequestHead& head, http::ServerResponse& response) {
    if (ScriptedUpload::IsCompletion(head)) {
      response = OciError(400, "InvalidUploadPart");
    }
  });
  EXPECT_THAT(upload.Write(), IsOk());
  EXPECT_EQ(upload.aborts(), 0);
}

TEST(ScriptedUpload, ThatNobodySaysIsAnObjectIsNone) {
  ScriptedUpload upload([](const http::RequestHead& head, http::ServerResponse& response) {
    if (ScriptedUpload::IsCompletion(head)) {
      response = http::TextResponse(200, "");
    }
  });
  EXPECT_THAT(upload.Write(), HasCode(ErrorCode::kIo));
}

TEST(ScriptedUpload, OfPartsThatWereDamagedIsNotPublishedThoughNoAnswerTellsTheirChecksums) {
  ScriptedUpload upload([](const http::RequestHead& head, http::ServerResponse& response) {
    if (ScriptedUpload::IsPart(head)) {
      response.headers.Remove(kChecksumHeader);
    }
  });
  upload.DamageParts();
  EXPECT_THAT(upload.Write(), HasCode(ErrorCode::kIo));
  EXPECT_FALSE(upload.published());
}

TEST(ScriptedUpload, OfWhichNoAnswerTellsAChecksumIsComparedWithWhatIsRecorded) {
  for (const bool damaged : {false, true}) {
    ScriptedUpload upload([damaged](const http::RequestHead& head, http::ServerResponse& response) {
      if (head.method != "HEAD") {
        response.headers.Remove(kChecksumHeader);
      } else if (damaged) {
        response.headers.Set(kChecksumHeader, Crc32cOf("other"));
      }
    });
    const Status status = upload.Write();
    EXPECT_EQ(status.ok(), !damaged);
    EXPECT_THAT(status.message(), damaged ? HasSubstr("the store published other content") : HasSubstr(""));
  }
}

TEST(ScriptedUpload, ThatWasPublishedUnprovenAndCannotBeAskedForIsWritten) {
  for (const int status : {403, 500}) {
    ScriptedUpload upload([status](const http::RequestHead& head, http::ServerResponse& response) {
      response.headers.Remove(kChecksumHeader);
      if (head.method != "PUT" && head.method != "POST") {
        response = OciError(status, "");
      }
    });
    EXPECT_THAT(upload.Write(), IsOk()) << status;
    EXPECT_EQ(upload.aborts(), 0);
  }
}

TEST(ScriptedUpload, OfWhosePartNoEtagIsToldIsNotPublished) {
  ScriptedUpload upload([](const http::RequestHead& head, http::ServerResponse& response) {
    if (ScriptedUpload::IsPart(head)) {
      response.headers.Remove("etag");
    }
  });
  EXPECT_THAT(upload.Write().message(), HasSubstr("the answer names no etag"));
  EXPECT_FALSE(upload.published());
}

}  // namespace
}  // namespace assay::storage
