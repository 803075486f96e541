#include "report/web_bundle.h"

extern "C" {
extern const char assay_web_script[];
extern const char assay_web_script_end[];
extern const char assay_web_style[];
extern const char assay_web_style_end[];
extern const char assay_web_hashes[];
extern const char assay_web_hashes_end[];
}

namespace assay::report {
namespace {

std::string_view Embedded(const char* begin, const char* end) {
  return {begin, static_cast<size_t>(end - begin)};
}

/// Of a line "NAME HASH".
std::string_view HashOf(std::string_view name) {
  std::string_view rest = Embedded(assay_web_hashes, assay_web_hashes_end);
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() + (line.size() < rest.size() ? 1 : 0));
    if (line.starts_with(name) && line.substr(name.size()).starts_with(' ')) {
      return line.substr(name.size() + 1);
    }
  }
  return {};
}

}  // namespace

std::string_view WebScript() {
  return Embedded(assay_web_script, assay_web_script_end);
}

std::string_view WebStyle() {
  return Embedded(assay_web_style, assay_web_style_end);
}

std::string_view WebScriptHash() {
  return HashOf("report.js");
}

std::string_view WebStyleHash() {
  return HashOf("report.css");
}

}  // namespace assay::report
