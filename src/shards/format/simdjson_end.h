// What simdjson 3.0 lacks.
#pragma once

#include <simdjson.h>

namespace assay::shards {

/// Whether nothing but blanks stands behind the value that was read of `document`.
inline bool AtEnd(simdjson::ondemand::document& document) {
  const char* rest = nullptr;
  return document.current_location().get(rest) == simdjson::OUT_OF_BOUNDS;
}

}  // namespace assay::shards
