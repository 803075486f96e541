// The object server's router and dialects: any request that parses gets an answer.
#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "http/server_parser.h"
#include "object_world.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;  // NOLINT: the whole target is about it
  static std::unique_ptr<fuzz::World> world;
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
  (void)fuzz::NextWorld(world, 1000).Answer(std::move(head), body);
  return 0;
}
