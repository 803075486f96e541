// The object server's router and dialects: any request that parses gets an answer, and an answer's head holds no line
// that the server did not mean.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "fuzz_input.h"
#include "http/server_parser.h"
#include "objectserver/context.h"
#include "objectserver/credentials.h"
#include "objectserver/front.h"
#include "objectserver/store.h"
#include "objectserver/tokens.h"

namespace {

using namespace assay;
using fuzz::Require;

/// A store in memory with one bucket and one object, made anew when it has grown.
struct World {
  objectserver::ServeOptions options;
  objectserver::Credentials credentials = objectserver::Credentials::Anonymous();
  std::unique_ptr<objectserver::Store> store = std::move(objectserver::Store::Open("memory")).value();
  objectserver::Tokens tokens{credentials};
  objectserver::Context context{&options, &credentials, store.get(), &tokens, nullptr};
  objectserver::Front front{context};
  int requests = 0;

  World() {
    store->CreateBucket("test", "r");
    objectserver::ObjectRecord object;
    object.key = "k";
    store->Put("test", std::move(object), {});
  }
};

http::ServerResponse Send(World& world, http::RequestHead head, std::string_view body) {
  const std::unique_ptr<http::Exchange> exchange = world.front.Open(std::move(head));
  while (!body.empty() && exchange->wants_body()) {
    const std::span<std::byte> memory = exchange->BodyMemory(body.size());
    if (memory.empty()) {
      break;
    }
    const size_t count = std::min(memory.size(), body.size());
    std::memcpy(memory.data(), body.data(), count);
    exchange->BodyReceived(count);
    body.remove_prefix(count);
  }
  return exchange->Finish({});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static std::unique_ptr<World> world;
  constexpr int kRequestsOfOneWorld = 1000;
  if (!world || ++world->requests > kRequestsOfOneWorld) {
    world = std::make_unique<World>();
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  http::HeadParser parser;
  const size_t taken = parser.Feed(text);
  if (parser.state() != http::HeadParser::State::kDone) {
    return 0;
  }
  http::RequestHead head = parser.Take();
  std::string_view body = text.substr(taken);
  if (head.content_length) {
    // What a connection would deliver: as much as was announced, of what there is.
    body = body.substr(0, static_cast<size_t>(std::min<int64_t>(*head.content_length, 4096)));
    head.content_length = static_cast<int64_t>(body.size());
  }
  const http::ServerResponse response = Send(*world, std::move(head), body);
  Require(response.status >= 200 && response.status < 600, "every request is answered");
  // Status line, date, length, connection and the empty line stand beside the headers.
  const std::string answer_head = http::SerializeHead(response, false, true, "date");
  Require(std::ranges::count(answer_head, '\n') <= static_cast<int64_t>(response.headers.all().size()) + 5,
          "a header of the answer is one line");
  return 0;
}
