// An object server without sockets, for fuzz targets.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "fuzz_input.h"
#include "objectserver/context.h"
#include "objectserver/credentials.h"
#include "objectserver/front.h"
#include "objectserver/oci/preauthenticated.h"
#include "objectserver/store.h"
#include "objectserver/testing.h"
#include "objectserver/tokens.h"

namespace assay::fuzz {

/// A store in memory with one bucket, "test", and one object, "k".
struct World {
  objectserver::ServeOptions options;
  objectserver::Credentials credentials = objectserver::Credentials::Anonymous();
  std::unique_ptr<objectserver::Store> store = std::move(objectserver::Store::Open("memory")).value();
  objectserver::Tokens tokens{credentials};
  objectserver::oci::PreauthenticatedRequests preauthenticated;
  objectserver::Context context{&options, &credentials, store.get(), &tokens, &preauthenticated, nullptr};
  objectserver::Front front{context};
  int requests = 0;

  World() {
    store->CreateBucket("test", "r");
    objectserver::ObjectRecord object;
    object.key = "k";
    store->Put("test", std::move(object), {});
  }

  /// Beside the headers stand the status line, the connection and the empty line, and the date and the length where
  /// they are not among the headers or there is no body.
  static void CheckHead(const http::ServerResponse& response) {
    const bool has_body = response.status != 204 && response.status != 304;
    const auto lines = static_cast<int64_t>(response.headers.all().size()) + 3 +
                       (response.headers.Has("Date") ? 0 : 1) + (has_body ? 1 : 0);
    const std::string head = http::SerializeHead(response, false, true, "date");
    Require(std::ranges::count(head, '\n') == lines && std::ranges::count(head, '\r') == lines,
            "a header of the answer is one line");
  }

  /// Requires that the request is answered, and that the answer's head holds no line that the server did not mean.
  http::ServerResponse Answer(http::RequestHead head, std::string_view body) {
    http::ServerResponse response = objectserver::testing::Answer(front, std::move(head), body);
    Require(response.status >= 200 && response.status < 600, "every request is answered");
    CheckHead(response);
    return response;
  }
};

/// The world of the next request: a new one after every `requests`, so that none grows without end.
inline World& NextWorld(std::unique_ptr<World>& world, int requests) {
  if (!world || ++world->requests > requests) {
    world = std::make_unique<World>();
  }
  return *world;
}

}  // namespace assay::fuzz
