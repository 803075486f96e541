// For tests: a store that follows a script.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "base/text.h"
#include "http/server.h"
#include "storage/conformance.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {

/// One object of S3 under any key, and a script that may change each answer after the deed is done.
class ScriptedS3 {
 public:
  using Script = std::function<void(const http::RequestHead& head, http::ServerResponse& response)>;

  explicit ScriptedS3(Script script) : script_(std::move(script)) {
    auto server = http::Server::Start({}, http::WholeBody(
                                              [this](const http::RequestHead& head, std::string_view body) {
                                                http::ServerResponse response = Answer(head, body);
                                                script_(head, response);
                                                return response;
                                              },
                                              64 * kMiB));
    EXPECT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
  }
  /// Also from the script.
  void SetContent(std::string content) {
    const std::lock_guard lock(mutex_);
    content_ = std::make_shared<const std::string>(std::move(content));
  }
  std::string url() const { return server_->url(); }

 private:
  http::ServerResponse Answer(const http::RequestHead& head, std::string_view body) {
    const std::lock_guard lock(mutex_);
    return head.method == "PUT" ? Put(head, body) : Get(head);
  }

  http::ServerResponse Put(const http::RequestHead& head, std::string_view body) {
    http::ServerResponse response;
    if (content_ && head.headers.Has("if-none-match")) {
      response.status = 412;
      return response;
    }
    content_ = std::make_shared<const std::string>(body);
    token_ = head.headers.Find("x-amz-meta-assay-write-token").value_or("");
    response.headers.Add("ETag", "\"e\"");
    return response;
  }

  http::ServerResponse Get(const http::RequestHead& head) {
    http::ServerResponse response;
    if (!content_) {
      response.status = 404;
      return response;
    }
    const Checksum checksum = ChecksumOf(ChecksumKind::kCrc64Nvme, AsBytes(*content_));
    response.headers.Add("ETag", "\"e\"");
    response.headers.Add("x-amz-meta-assay-write-token", token_);
    std::span<const std::byte> bytes = AsBytes(*content_);
    if (const auto range = head.headers.Find("range")) {
      const std::string_view digits = range->substr(std::string_view("bytes=").size());
      const auto first = static_cast<size_t>(*ParseCount(digits.substr(0, digits.find('-'))));
      const auto last = static_cast<size_t>(*ParseCount(digits.substr(digits.find('-') + 1)));
      const size_t end = std::min(last + 1, bytes.size());
      response.status = 206;
      response.headers.Add("Content-Range", "bytes " + std::to_string(first) + "-" + std::to_string(end - 1) + "/" +
                                                std::to_string(bytes.size()));
      bytes = bytes.subspan(first, end - first);
    }
    if (bytes.size() == content_->size()) {
      response.headers.Add("x-amz-checksum-crc64nvme", checksum.Base64());
    }
    response.head_content_length = static_cast<int64_t>(content_->size());
    response.body.push_back(http::BodyPiece::Memory(content_, bytes));
    return response;
  }

  Script script_;
  std::mutex mutex_;
  std::shared_ptr<const std::string> content_;  // guarded by mutex_
  std::string token_;                           // guarded by mutex_
  std::unique_ptr<http::Server> server_;
};

}  // namespace assay::storage
