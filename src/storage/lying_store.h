// For tests: a store on a server that answers as it is told.
#pragma once

#include <gmock/gmock.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "http/server.h"
#include "storage/conformance.h"
#include "storage/open.h"

namespace assay::storage {

/// A bucket of that server; a request is tried once, unless it is said otherwise.
class LyingStore {
 public:
  using Answer = std::function<http::ServerResponse(const http::RequestHead& head, std::string_view body)>;

  LyingStore(const std::string& uri, Answer answer, StoreOptions options = {}, int attempts = 1) {
    auto server = http::Server::Start(
        {}, http::WholeBody(
                [this, answer = std::move(answer)](const http::RequestHead& head, std::string_view body) {
                  ++requests_;
                  return answer(head, body);
                },
                8 * kMiB));
    EXPECT_THAT(server.status(), IsOk());
    server_ = *std::move(server);
    options.endpoint = server_->url();
    options.region = "us-east-1";
    options.anonymous = true;
    options.max_attempts = attempts;
    auto opened = OpenStore(uri, options);
    EXPECT_THAT(opened.status(), IsOk());
    store_ = opened->store;
  }
  ObjectStore& store() { return *store_; }
  int requests() const { return requests_; }

 private:
  std::atomic<int> requests_ = 0;
  std::unique_ptr<http::Server> server_;
  std::shared_ptr<ObjectStore> store_;
};

}  // namespace assay::storage
