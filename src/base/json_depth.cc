#include "base/json_depth.h"

namespace assay {

bool IsNestedTooDeep(std::string_view text) {
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      in_text = !in_text;
    } else if (in_text) {
      i += c == '\\' ? 1 : 0;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostJsonDepth) {
        return true;
      }
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

}  // namespace assay
