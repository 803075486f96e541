#include "report/html.h"

#include <cassert>
#include <cstddef>

namespace assay::report {
namespace {

constexpr std::string_view kReplacement = "\uFFFD";

unsigned char Byte(std::string_view text, size_t at) {
  return static_cast<unsigned char>(text[at]);
}

// The length of the UTF-8 character at `at`, or 0 when there is none. Overlong forms, surrogates and code points beyond
// U+10FFFF are none (Unicode 15, table 3-7).
size_t Utf8Length(std::string_view text, size_t at) {
  const unsigned char lead = Byte(text, at);
  const size_t length = lead < 0x80 ? 1 : lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
  if (length == 0 || at + length > text.size()) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((Byte(text, at + i) & 0xC0) != 0x80) {
      return 0;
    }
  }
  const unsigned char second = length > 1 ? Byte(text, at + 1) : 0;
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool outside = (lead == 0xED && second > 0x9F) || (lead == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : length;
}

std::string_view Reference(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&#39;";
    default:
      return {};
  }
}

bool IsForbiddenControl(unsigned char c) {
  return (c < 0x20 && c != '\t' && c != '\n') || c == 0x7F;
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string escaped;
  escaped.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8Length(text, i);
    if (length == 0 || IsForbiddenControl(Byte(text, i))) {
      escaped += kReplacement;
      i += 1;
      continue;
    }
    if (const std::string_view reference = Reference(text[i]); !reference.empty()) {
      escaped += reference;
    } else {
      escaped += text.substr(i, length);
    }
    i += length;
  }
  return escaped;
}

nlohmann::json Markup::Tag(std::string_view tag, Attributes attributes) {
  nlohmann::json told = nlohmann::json::object();
  text_ += '<';
  text_ += tag;
  for (const auto& [name, value] : attributes) {
    if (!value.empty()) {
      text_.append(" ").append(name).append("=\"").append(EscapeHtml(value)).append("\"");
      told[std::string(name)] = value;
    }
  }
  return nlohmann::json::array({tag, std::move(told)});
}

Markup& Markup::Open(std::string_view tag, Attributes attributes) {
  pieces_.push_back(Tag(tag, attributes));
  text_ += '>';
  open_.emplace_back(tag);
  return *this;
}

Markup& Markup::Close() {
  assert(!open_.empty());
  text_.append("</").append(open_.back()).append(">");
  open_.pop_back();
  nlohmann::json closed = std::move(pieces_.back());
  pieces_.pop_back();
  pieces_.back().push_back(std::move(closed));
  return *this;
}

Markup& Markup::Text(std::string_view text) {
  text_ += EscapeHtml(text);
  pieces_.back().push_back(text);
  return *this;
}

Markup& Markup::Element(std::string_view tag, std::string_view text, Attributes attributes) {
  return Open(tag, attributes).Text(text).Close();
}

Markup& Markup::Empty(std::string_view tag, Attributes attributes) {
  pieces_.back().push_back(Tag(tag, attributes));
  text_ += "/>";
  return *this;
}

Markup& Markup::Raw(std::string_view markup) {
  text_ += markup;
  return *this;
}

std::string Markup::Finish() && {
  while (!open_.empty()) {
    Close();
  }
  return std::move(text_);
}

nlohmann::json Markup::Pieces() && {
  while (!open_.empty()) {
    Close();
  }
  return std::move(pieces_.back());
}

}  // namespace assay::report
