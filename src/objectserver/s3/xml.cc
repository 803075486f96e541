#include "objectserver/s3/xml.h"

#include <fmt/format.h>

#include <utility>

namespace assay::objectserver::s3 {
namespace {

void AppendEscaped(std::string& text, std::string_view raw) {
  for (const char c : raw) {
    switch (c) {
      case '&':
        text += "&amp;";
        break;
      case '<':
        text += "&lt;";
        break;
      case '>':
        text += "&gt;";
        break;
      case '"':
        text += "&quot;";
        break;
      case '\r':
        text += "&#13;";
        break;
      case '\n':
        text += "&#10;";
        break;
      default:
        // XML 1.0 has no form for other control characters; S3 sends this reference all the same.
        if (static_cast<unsigned char>(c) < 0x20 && c != '\t') {
          text += fmt::format("&#x{:x};", static_cast<int>(c));
        } else {
          text += c;
        }
    }
  }
}

}  // namespace

XmlWriter::XmlWriter() : text_("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n") {}

void XmlWriter::Open(std::string_view name) {
  text_.append("<").append(name).append(">");
  open_.emplace_back(name);
}

void XmlWriter::OpenRoot(std::string_view name) {
  text_.append("<").append(name).append(" xmlns=\"").append(kS3Namespace).append("\">");
  open_.emplace_back(name);
}

void XmlWriter::Leaf(std::string_view name, std::string_view text) {
  text_.append("<").append(name).append(">");
  AppendEscaped(text_, text);
  text_.append("</").append(name).append(">");
}

void XmlWriter::Close() {
  text_.append("</").append(open_.back()).append(">");
  open_.pop_back();
}

std::string XmlWriter::Take() {
  return std::move(text_);
}

}  // namespace assay::objectserver::s3
