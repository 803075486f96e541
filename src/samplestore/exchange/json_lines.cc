#include "samplestore/exchange/json_lines.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace assay::samplestore {
namespace {

Result<Measurement> ReadLine(const std::string& line, const std::string& where) {
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(line, where));
  Result<Measurement> measurement = MeasurementFromJson(json);
  if (!measurement.ok()) {
    return measurement.status().WithContext(where);
  }
  for (const auto& [name, text] :
       {std::pair("uid", &measurement->uid), std::pair("experiment", &measurement->experiment),
        std::pair("parameterized_id", &measurement->parameterized_id),
        std::pair("entity_id", &measurement->entity_id)}) {
    if (text->empty()) {
      return Status::InvalidArgument(fmt::format("{}: a measurement needs '{}'", where, name));
    }
  }
  return measurement;
}

}  // namespace

Status WriteJsonLine(const Measurement& measurement, AtomicFile& file) {
  return file.Write(DumpJson(ToJson(measurement)) + "\n");
}

Status ReadJsonLines(const std::string& path, const std::function<Status(Measurement)>& take) {
  if (IsDirectory(path)) {
    return Status::InvalidArgument(fmt::format("cannot read {}: it is a folder (name a file)", path));
  }
  std::ifstream file(path);
  if (!file) {
    return ErrnoStatus(errno, "read", path);
  }
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (!Trim(line).empty()) {
      ASSAY_ASSIGN_OR_RETURN(Measurement measurement, ReadLine(line, fmt::format("{}:{}", path, number)));
      ASSAY_RETURN_IF_ERROR(take(std::move(measurement)));
    }
  }
  return file.bad() ? ErrnoStatus(errno, "read", path) : Status::Ok();
}

}  // namespace assay::samplestore
