// Whether the measurements of a file are those that were written, all of them and in their order.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::samplestore {

/// The fields of a file that hold the checksum of a measurement, and whether another one follows.
inline constexpr char kChecksumField[] = "checksum";
inline constexpr char kMoreField[] = "more";

/// Given the measurements of a file one after the other, all of each as JSON.
class ContentChain {
 public:
  /// Of `measurement` and all before it: SHA-256, the first 32 digits. However the JSON is written out, and in
  /// whichever order its names stand, it is the same.
  std::string Next(const nlohmann::json& measurement);
  /// That `checksum` is the next; an error names `where`.
  Status Check(const nlohmann::json& measurement, std::string_view checksum, const std::string& where);

 private:
  std::string last_;
};

/// The error for a file that ends too early, at `where`.
Status FileIsCutOff(const std::string& where);
/// The error for measurements behind the last, at `where`.
Status OthersFollow(const std::string& where);

}  // namespace assay::samplestore
