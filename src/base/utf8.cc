#include "base/utf8.h"

#include <utf8proc.h>

namespace assay {

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    utf8proc_int32_t code_point = 0;
    const utf8proc_ssize_t bytes = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                                    static_cast<utf8proc_ssize_t>(text.size()), &code_point);
    if (bytes <= 0) {
      return false;
    }
    text.remove_prefix(static_cast<size_t>(bytes));
  }
  return true;
}

}  // namespace assay
