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

  /// Requires that the request is answered, and that the answer's head holds no line that the server did not mean.
  http::ServerResponse Answer(http::RequestHead head, std::string_view body) {
    http::ServerResponse response = objectserver::testing::Answer(front, std::move(head), body);
    Require(response.status >= 200 && response.status < 600, "every request is answered");
    // Status line, date, length, connection and the empty line stand beside the headers.
    const std::string answer_head = http::SerializeHead(response, false, true, "date");
    Require(std::ranges::count(answer_head, '\n') <= static_cast<int64_t>(response.headers.all().size()) + 5,
            "a header of the answer is one line");
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
