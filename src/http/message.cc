#include "http/message.h"

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <string>

#include "base/terminal.h"

namespace assay::http {
namespace {

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7F';
}

bool IsTokenCharacter(char c) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return (static_cast<unsigned char>(c) < 0x80 && std::isalnum(static_cast<unsigned char>(c)) != 0) ||
         kMarks.find(c) != std::string_view::npos;
}

}  // namespace

void Headers::Add(std::string_view name, std::string_view value) {
  fields_.push_back({std::string(name), std::string(value)});
}

void Headers::Set(std::string_view name, std::string_view value) {
  Remove(name);
  Add(name, value);
}

void Headers::Remove(std::string_view name) {
  std::erase_if(fields_, [name](const Header& field) { return SameName(field.name, name); });
}

std::optional<std::string_view> Headers::Find(std::string_view name) const {
  for (const Header& field : fields_) {
    if (SameName(field.name, name)) {
      return field.value;
    }
  }
  return std::nullopt;
}

bool IsHeaderName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), IsTokenCharacter);
}

bool IsHeaderValue(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) { return IsControl(c) && c != '\t'; });
}

std::optional<std::string> FlawOf(const Request& request) {
  const auto breaks = [](char c) { return IsControl(c) || c == ' '; };
  if (!IsHeaderName(request.method) || std::any_of(request.url.begin(), request.url.end(), breaks)) {
    return "the address holds a control character or a space: '" + Escaped(request.url) + "'";
  }
  for (const Header& header : request.headers.all()) {
    if (!IsHeaderName(header.name)) {
      return "'" + Escaped(header.name) + "' is no name of a header";
    }
    if (!IsHeaderValue(header.value)) {
      return "the value of header " + header.name + " holds a control character: '" + Escaped(header.value) + "'";
    }
  }
  return std::nullopt;
}

int64_t Request::body_bytes() const {
  int64_t bytes = 0;
  for (const auto& piece : body) {
    bytes += static_cast<int64_t>(piece.size());
  }
  return bytes;
}

}  // namespace assay::http
