// Who may ask a server of pages: whatever a request says, nobody is let in without the secret, and no answer holds it.
#include <string>
#include <string_view>

#include "fuzz_input.h"
#include "http/server_parser.h"
#include "serve/access.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;  // NOLINT: the whole target is about it
  static const std::string token = "secret-secret-secret-secret-secret";
  static serve::Access access({.hosts = {"127.0.0.1", "localhost"}, .token = token});
  access.SetPort(80);
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  http::HeadParser parser;
  parser.Feed(text);
  if (parser.state() != http::HeadParser::State::kDone) {
    return 0;
  }
  const http::RequestHead head = parser.Take();
  const auto answer = access.Check(head);
  const bool knows = text.find(token) != std::string_view::npos;
  fuzz::Require(answer || knows, "nobody is let in without the token");
  fuzz::Require(answer || head.method == "GET" || head.method == "HEAD", "nothing but GET and HEAD is let through");
  if (answer) {
    fuzz::Require(answer->status < 400 ? knows : true, "a session begins with the token alone");
    for (const http::Header& header : answer->headers.all()) {
      fuzz::Require(header.value.find(token) == std::string::npos, "no answer holds the token");
    }
  }
  return 0;
}
