#include "samplestore/exchange/content_chain.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"

namespace assay::samplestore {

std::string ContentChain::Next(const nlohmann::json& measurement) {
  constexpr size_t kDigits = 32;
  last_ = Sha256Hex(last_ + "\n" + DumpJson(measurement)).substr(0, kDigits);
  return last_;
}

Status ContentChain::Check(const nlohmann::json& measurement, std::string_view checksum, const std::string& where) {
  return Next(measurement) == checksum
             ? Status::Ok()
             : Status::InvalidArgument(
                   fmt::format("{}: this measurement, or what stood before it, was changed since it was exported: its "
                               "checksum is another; export it again",
                               where));
}

Status FileIsCutOff(const std::string& where) {
  return Status::InvalidArgument(fmt::format("{}: the file is cut off here: get it again, whole", where));
}

Status OthersFollow(const std::string& where) {
  return Status::InvalidArgument(
      fmt::format("{}: '{}' says that this is the last measurement, but others follow: import each file by itself",
                  where, kMoreField));
}

}  // namespace assay::samplestore
