// URLs: what parses is printed and parsed again as the same, and escapes round-trip.
#include <string>
#include <string_view>

#include "fuzz_input.h"
#include "http/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using assay::fuzz::Require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto url = assay::http::ParseUrl(text)) {
    const std::string printed =
        url->scheme + "://" + url->authority() + url->path + (url->query.empty() ? "" : "?") + url->query;
    const auto again = assay::http::ParseUrl(printed);
    Require(again.has_value(), "a printed URL parses");
    Require(again->scheme == url->scheme && again->authority() == url->authority() && again->path == url->path &&
                again->query == url->query,
            "a printed URL is the same one");
    Require(url->authority().find('@') == std::string::npos, "no user information");
  }
  const std::string encoded = assay::http::PercentEncode(text, "/");
  Require(assay::http::PercentDecode(encoded) == std::string(text), "an encoded text decodes to itself");
  (void)assay::http::PercentDecode(text);
  return 0;
}
