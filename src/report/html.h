// A small builder of HTML and SVG text that escapes what it is given, and of the same as data.
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
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
/// that may be empty. Attributes with an empty value are left out. `data-to` is where a link leads within the page: an
/// object of a view and what its address says, as JSON text, of which the page's script makes an address.
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
  /// The same as data, for the page's script (src/web/dom.js): a list of pieces, each a text or [tag, {attributes},
  /// piece...]; Raw() is not among them.
  nlohmann::json Pieces() &&;

 private:
  /// Returns the element as a piece without children.
  nlohmann::json Tag(std::string_view tag, Attributes attributes);

  std::string text_;
  std::vector<std::string> open_;
  std::vector<nlohmann::json> pieces_ = {nlohmann::json::array()};  ///< of what is open, beneath it what is closed
};

}  // namespace assay::report
