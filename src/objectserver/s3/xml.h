// XML out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay::objectserver::s3 {

inline constexpr std::string_view kS3Namespace = "http://s3.amazonaws.com/doc/2006-03-01/";

/// Writes one document; elements are closed in the order they were opened.
class XmlWriter {
 public:
  XmlWriter();
  void Open(std::string_view name);
  /// The root of a document in S3's namespace.
  void OpenRoot(std::string_view name);
  void Leaf(std::string_view name, std::string_view text);
  void Leaf(std::string_view name, int64_t number) { Leaf(name, std::string_view(std::to_string(number))); }
  void Leaf(std::string_view name, bool value) { Leaf(name, std::string_view(value ? "true" : "false")); }
  void Leaf(std::string_view name, const char* text) { Leaf(name, std::string_view(text)); }
  void Leaf(std::string_view name, const std::string& text) { Leaf(name, std::string_view(text)); }
  void Close();
  /// The document; every element must be closed.
  std::string Take();

 private:
  std::string text_;
  std::vector<std::string> open_;
};

}  // namespace assay::objectserver::s3
