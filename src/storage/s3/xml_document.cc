#include "storage/s3/xml_document.h"

#include <algorithm>

namespace assay::storage {
namespace {

/// What ends the markup that begins `text`, behind its '<'; empty for a tag.
std::string_view EndOfMarkup(std::string_view text) {
  if (text.starts_with("<!--")) {
    return "-->";
  }
  if (text.starts_with("<![CDATA[")) {
    return "]]>";
  }
  return text.starts_with("<?") ? "?>" : "";
}

/// Where the tag that begins at `at` ends: at the first '>' outside of quotes.
size_t EndOfTag(std::string_view text, size_t at) {
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quote != 0) {
      quote = c == quote ? char{0} : quote;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '>') {
      return at;
    }
  }
  return std::string_view::npos;
}

/// Counts tags; what else is wrong is for the parser to find.
bool IsNestedTooDeep(std::string_view text) {
  int depth = 0;
  for (size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
    const std::string_view end = EndOfMarkup(text.substr(at, 9));
    const size_t close = end.empty() ? EndOfTag(text, at) : text.find(end, at + 2);
    if (close == std::string_view::npos) {
      return false;
    }
    const bool is_tag = end.empty() && text[at + 1] != '!';
    if (is_tag && text[at + 1] == '/') {
      --depth;
    } else if (is_tag && text[close - 1] != '/' && ++depth > kMaxXmlDepth) {
      return true;
    }
    at = close;
  }
  return false;
}

}  // namespace

pugi::xml_node LoadXml(pugi::xml_document& document, std::string_view body, const char* name) {
  if (IsNestedTooDeep(body)) {
    return {};
  }
  // A key may be a space alone.
  constexpr unsigned int kFlags = pugi::parse_default | pugi::parse_ws_pcdata_single;
  const pugi::xml_parse_result parsed = document.load_buffer(body.data(), body.size(), kFlags);
  return parsed ? document.child(name) : pugi::xml_node();
}

}  // namespace assay::storage
