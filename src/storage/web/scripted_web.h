// For tests: a web server with one file under any path, good or bad at its work.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "http/server.h"
#include "storage/conformance.h"
#include "storage/transfer/object_headers.h"

namespace assay::storage {

struct WebManners {
  bool has_ranges = true;
  bool has_head = true;
  std::string etag = "\"v1\"";
  std::string modified = "Sat, 31 Jan 2026 12:00:00 GMT";
};

class ScriptedWeb {
 public:
  using Script = std::function<void(const http::RequestHead& head, http::ServerResponse& response)>;

  explicit ScriptedWeb(std::string content, WebManners manners = {}, Script script = nullptr)
      : content_(std::make_shared<const std::string>(std::move(content))),
        manners_(std::move(manners)),
        script_(std::move(script)) {
    auto server = http::Server::Start({}, http::WholeBody([this](const http::RequestHead& head, std::string_view) {
                                        const std::lock_guard lock(mutex_);
                                        asked_.push_back(head.method + " " + head.target + " " +
                                                         std::string(head.headers.Find("range").value_or("-")));
                                        http::ServerResponse response = Answer(head);
                                        if (script_) {
                                          script_(head, response);
                                        }
                                        return response;
                                      }));
    EXPECT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
  }
  std::string url() const { return server_->url(); }
  void Change(std::string content, std::string etag, std::string modified) {
    const std::lock_guard lock(mutex_);
    content_ = std::make_shared<const std::string>(std::move(content));
    manners_.etag = std::move(etag);
    manners_.modified = std::move(modified);
  }
  /// "GET /path bytes=0-9" of each request so far, "-" where no range was asked for.
  std::vector<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }
  int CountAsked(std::string_view beginning) {
    const std::vector<std::string> all = asked();
    return static_cast<int>(
        std::ranges::count_if(all, [&](const std::string& one) { return one.starts_with(beginning); }));
  }

 private:
  /// RFC 9110 section 13.2.2, as far as it is about reading one version.
  bool Holds(const http::RequestHead& head) const {
    if (const auto match = head.headers.Find("if-match")) {
      return *match == manners_.etag;
    }
    const auto since = head.headers.Find("if-unmodified-since");
    return !since || *since == manners_.modified;
  }

  http::ServerResponse Answer(const http::RequestHead& head) const {
    http::ServerResponse response;
    if (head.method == "HEAD" && !manners_.has_head) {
      response.status = 405;
      return response;
    }
    if (!Holds(head)) {
      response.status = 412;
      return response;
    }
    if (!manners_.etag.empty()) {
      response.headers.Add("ETag", manners_.etag);
    }
    if (!manners_.modified.empty()) {
      response.headers.Add("Last-Modified", manners_.modified);
    }
    std::span<const std::byte> bytes = AsBytes(*content_);
    const auto range = head.headers.Find("range");
    if (range && manners_.has_ranges && head.method == "GET") {
      const std::string_view digits = range->substr(std::string_view("bytes=").size());
      const auto first = static_cast<size_t>(*ParseCount(digits.substr(0, digits.find('-'))));
      const auto last = static_cast<size_t>(*ParseCount(digits.substr(digits.find('-') + 1)));
      const std::string size = std::to_string(bytes.size());
      if (first >= bytes.size()) {
        response.status = 416;
        response.headers.Add("Content-Range", "bytes */" + size);
        return response;
      }
      const size_t end = std::min(last + 1, bytes.size());
      response.status = 206;
      response.headers.Add("Content-Range",
                           "bytes " + std::to_string(first) + "-" + std::to_string(end - 1) + "/" + size);
      bytes = bytes.subspan(first, end - first);
    }
    response.head_content_length = static_cast<int64_t>(content_->size());
    response.body.push_back(http::BodyPiece::Memory(content_, bytes));
    return response;
  }

  std::mutex mutex_;
  std::shared_ptr<const std::string> content_;  // guarded by mutex_
  WebManners manners_;                          // guarded by mutex_
  Script script_;
  std::vector<std::string> asked_;  // guarded by mutex_
  std::unique_ptr<http::Server> server_;
};

}  // namespace assay::storage
