#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"
#include "http/message.h"

namespace assay::http {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool IsUnreserved(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

bool IsPrintable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

/// "host", "host:80", "[::1]:80"; false for anything else.
bool ParseAuthority(std::string_view authority, Url& url) {
  const size_t bracket = authority.starts_with('[') ? authority.find(']') : 0;
  if (bracket == std::string_view::npos || authority.find('@') != std::string_view::npos) {
    return false;
  }
  const size_t colon = authority.find(':', bracket);
  url.host = Lower(authority.substr(0, colon));
  if (url.host.empty()) {
    return false;
  }
  if (colon == std::string_view::npos) {
    return true;
  }
  const std::string_view digits = authority.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), url.port);
  return error == std::errc() && end == digits.data() + digits.size() && url.port > 0 && url.port <= 65535;
}

}  // namespace

std::string Url::authority() const {
  return port == 0 ? host : host + ":" + std::to_string(port);
}

std::optional<Url> ParseUrl(std::string_view text) {
  Url url;
  const size_t scheme_end = text.find("://");
  if (scheme_end == std::string_view::npos || !IsPrintable(text)) {
    return std::nullopt;
  }
  url.scheme = Lower(text.substr(0, scheme_end));
  if (url.scheme != "http" && url.scheme != "https") {
    return std::nullopt;
  }
  std::string_view rest = text.substr(scheme_end + 3);
  rest = rest.substr(0, rest.find('#'));
  const size_t authority_end = std::min(rest.find_first_of("/?"), rest.size());
  if (!ParseAuthority(rest.substr(0, authority_end), url)) {
    return std::nullopt;
  }
  rest.remove_prefix(authority_end);
  const size_t question = rest.find('?');
  url.path = rest.substr(0, question);
  if (url.path.empty()) {
    url.path.assign(1, '/');
  }
  if (question != std::string_view::npos) {
    url.query = rest.substr(question + 1);
  }
  return url;
}

std::string PercentEncode(std::string_view text, std::string_view keep) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string encoded;
  encoded.reserve(text.size() + text.size() / 4);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (IsUnreserved(byte) || keep.find(c) != std::string_view::npos) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kDigits[byte >> 4];
      encoded += kDigits[byte & 15];
    }
  }
  return encoded;
}

std::optional<std::string> PercentDecode(std::string_view text) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0) {
      return std::nullopt;
    }
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return decoded;
}

}  // namespace assay::http
