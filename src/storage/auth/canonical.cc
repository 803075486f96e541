// The canonical request: paths, queries and headers as Signature Version 4 wants them.
#include <strings.h>

#include <algorithm>
#include <array>

#include "storage/auth/sigv4.h"

namespace assay::storage {
namespace {

constexpr std::array<bool, 256> MakeUnreserved() {
  std::array<bool, 256> unreserved{};
  for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")) {
    unreserved[static_cast<unsigned char>(c)] = true;
  }
  return unreserved;
}
constexpr std::array<bool, 256> kUnreserved = MakeUnreserved();

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The byte that stands at `i`, escaped or not; moves `i` behind it.
unsigned char TakeByte(std::string_view text, size_t& i, bool& escaped) {
  escaped = false;
  if (text[i] == '%' && i + 2 < text.size()) {
    const int high = HexDigit(text[i + 1]);
    const int low = HexDigit(text[i + 2]);
    if (high >= 0 && low >= 0) {
      escaped = true;
      i += 3;
      return static_cast<unsigned char>(high << 4 | low);
    }
  }
  return static_cast<unsigned char>(text[i++]);
}

void AppendEncoded(std::string& text, unsigned char byte) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  if (kUnreserved[byte]) {
    text += static_cast<char>(byte);
  } else {
    text += '%';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
}

void AppendQueryPart(std::string& text, std::string_view part) {
  bool escaped;
  for (size_t i = 0; i < part.size();) {
    const unsigned char byte = TakeByte(part, i, escaped);
    AppendEncoded(text, byte == '+' && !escaped ? ' ' : byte);
  }
}

struct Parameter {
  std::string name;
  std::string value;
};

std::vector<Parameter> ReadParameters(std::string_view query) {
  std::vector<Parameter> parameters;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) {
      continue;
    }
    const size_t equals = std::min(pair.find('='), pair.size());
    Parameter& parameter = parameters.emplace_back();
    AppendQueryPart(parameter.name, pair.substr(0, equals));
    AppendQueryPart(parameter.value, pair.substr(std::min(equals + 1, pair.size())));
  }
  return parameters;
}

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool IsSpace(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

// Trimmed, with each run of white space as one space.
void AppendFolded(std::string& text, std::string_view value) {
  bool gap = false;
  bool any = false;
  for (const char c : value) {
    if (IsSpace(c)) {
      gap = any;
      continue;
    }
    if (gap) {
      text += ' ';
    }
    text += c;
    gap = false;
    any = true;
  }
}

// Sorted by name.
void AppendHeaders(std::string& text, const std::vector<CanonicalHeader>& headers) {
  for (size_t i = 0; i < headers.size(); ++i) {
    const bool repeated = i > 0 && headers[i].name == headers[i - 1].name;
    if (repeated) {
      text.back() = ',';
    } else {
      text += headers[i].name;
      text += ':';
    }
    AppendFolded(text, headers[i].value);
    text += '\n';
  }
}

}  // namespace

void AppendCanonicalPath(std::string& text, std::string_view path) {
  bool escaped;
  for (size_t i = 0; i < path.size();) {
    const unsigned char byte = TakeByte(path, i, escaped);
    if (byte == '/' && !escaped) {
      text += '/';
    } else {
      AppendEncoded(text, byte);
    }
  }
}

void AppendCanonicalQuery(std::string& text, std::string_view query, std::string_view leave_out) {
  if (query.empty()) {
    return;
  }
  std::vector<Parameter> parameters = ReadParameters(query);
  std::sort(parameters.begin(), parameters.end(), [](const Parameter& a, const Parameter& b) {
    return a.name != b.name ? a.name < b.name : a.value < b.value;
  });
  bool first = true;
  for (const Parameter& parameter : parameters) {
    if (!leave_out.empty() && SameName(parameter.name, leave_out)) {
      continue;
    }
    if (!first) {
      text += '&';
    }
    first = false;
    text += parameter.name;
    text += '=';
    text += parameter.value;
  }
}

std::string SignedHeaderNames(const std::vector<CanonicalHeader>& headers) {
  std::string names;
  names.reserve(24 * headers.size());
  for (size_t i = 0; i < headers.size(); ++i) {
    if (i > 0 && headers[i].name == headers[i - 1].name) {
      continue;
    }
    if (!names.empty()) {
      names += ';';
    }
    names += headers[i].name;
  }
  return names;
}

std::string CanonicalRequest(CanonicalParts& parts) {
  std::stable_sort(parts.headers.begin(), parts.headers.end(),
                   [](const CanonicalHeader& a, const CanonicalHeader& b) { return a.name < b.name; });
  std::string text;
  text.reserve(512 + parts.path.size() + parts.query.size());
  text += parts.method;
  text += '\n';
  AppendCanonicalPath(text, parts.path);
  text += '\n';
  AppendCanonicalQuery(text, parts.query, parts.query_left_out);
  text += '\n';
  AppendHeaders(text, parts.headers);
  text += '\n';
  text += SignedHeaderNames(parts.headers);
  text += '\n';
  text += parts.payload_hash;
  return text;
}

}  // namespace assay::storage
