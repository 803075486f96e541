// A small builder of HTML and SVG text that escapes what it is given.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::report {

/// `text` for element content and quoted attribute values: & < > " ' become references, control characters but tab and
/// newline and bytes that are no UTF-8 become U+FFFD.
std::string EscapeHtml(std::string_view text);

/// Attribute name and value; the value is escaped when it is written.
using Attribute = std::pair<std::string_view, std::string>;
using Attributes = std::initializer_list<Attribute>;

/// Appends to one string. What is opened must be closed in turn; the output is well-formed XML, and HTML for elements
/// that may be empty. Attributes with an empty value are left out.
class Markup {
 public:
  Markup& Open(std::string_view tag, Attributes attributes = {});
  Markup& Close();
  Markup& Text(std::string_view text);
  /// Open, Text, Close.
  Markup& Element(std::string_view tag, std::string_view text, Attributes attributes = {});
  /// An element without content, as `<line .../>`.
  Markup& Empty(std::string_view tag, Attributes attributes = {});
  /// Markup that stands already escaped.
  Markup& Raw(std::string_view markup);

  const std::string& text() const { return text_; }
  /// The text, with whatever is still open closed.
  std::string Finish() &&;

 private:
  void Tag(std::string_view tag, Attributes attributes);

  std::string text_;
  std::vector<std::string> open_;
};

}  // namespace assay::report
