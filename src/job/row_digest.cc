#include "job/row_digest.h"

#include <zlib.h>

namespace assay::job {
namespace {

uLong Continue(uLong crc, std::string_view text) {
  return crc32_z(crc, reinterpret_cast<const Bytef*>(text.data()), text.size());
}

}  // namespace

void RowDigest::Add(std::string_view prompt, std::string_view completion) {
  sum_ += static_cast<int64_t>(Continue(Continue(Continue(0, prompt), std::string_view("\0", 1)), completion));
}

}  // namespace assay::job
