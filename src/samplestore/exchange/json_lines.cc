#include "samplestore/exchange/json_lines.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "samplestore/exchange/fields.h"

namespace assay::samplestore {
namespace {

class JsonLinesWriter final : public MeasurementWriter {
 public:
  explicit JsonLinesWriter(AtomicFile file) : file_(std::move(file)) {}
  Status Write(const Measurement& measurement) override { return file_.Write(DumpJson(ToJson(measurement)) + "\n"); }
  Status Commit() override { return file_.Commit(); }

 private:
  AtomicFile file_;
};

}  // namespace

Result<std::unique_ptr<MeasurementWriter>> CreateJsonLines(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  return std::unique_ptr<MeasurementWriter>(std::make_unique<JsonLinesWriter>(std::move(file)));
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
    if (Trim(line).empty()) {
      continue;
    }
    const std::string where = fmt::format("{}:{}", path, number);
    ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(line, where));
    ASSAY_ASSIGN_OR_RETURN(Measurement measurement, WholeMeasurement(json, where));
    ASSAY_RETURN_IF_ERROR(take(std::move(measurement)));
  }
  return file.bad() ? ErrnoStatus(errno, "read", path) : Status::Ok();
}

}  // namespace assay::samplestore
