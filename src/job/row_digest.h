// Whether rows are those that were asked for, in whatever order.
#pragma once

#include <cstdint>
#include <string_view>

namespace assay::job {

/// The sum of each row's CRC-32 (zlib's, ISO 3309) over its prompt, a zero byte and its completion: another where a row
/// is lost, repeated or changed.
class RowDigest {
 public:
  void Add(std::string_view prompt, std::string_view completion);
  int64_t value() const { return sum_; }

 private:
  int64_t sum_ = 0;
};

}  // namespace assay::job
