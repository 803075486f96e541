#include "objectserver/object_key.h"

#include "base/utf8.h"

namespace assay::objectserver {

bool IsObjectKey(std::string_view key) {
  return !key.empty() && key.size() <= kMaxKeyBytes && key.find('\0') == std::string_view::npos && IsUtf8(key);
}

}  // namespace assay::objectserver
