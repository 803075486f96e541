#include "samplestore/exchange/json_lines.h"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/text.h"
#include "samplestore/exchange/content_chain.h"
#include "samplestore/exchange/fields.h"

namespace assay::samplestore {
namespace {

class JsonLinesWriter final : public MeasurementWriter {
 public:
  explicit JsonLinesWriter(AtomicFile file) : file_(std::move(file)) {}

  Status Write(const Measurement& measurement) override {
    ASSAY_RETURN_IF_ERROR(WriteLast(/*more=*/true));
    last_ = ToJson(measurement);
    last_[kChecksumField] = chain_.Next(last_);
    return Status::Ok();
  }

  Status Commit() override {
    ASSAY_RETURN_IF_ERROR(WriteLast(/*more=*/false));
    return file_.Commit();
  }

 private:
  Status WriteLast(bool more) {
    if (last_.is_null()) {
      return Status::Ok();
    }
    last_[kMoreField] = more;
    return file_.Write(DumpJson(last_) + "\n");
  }

  AtomicFile file_;
  ContentChain chain_;
  nlohmann::json last_;  // which is written once it is known whether another one follows
};

/// Holds the lines of a file against their checksums, where it has any: files of older programs, and lines that
/// somebody wrote, have none.
class LineCheck {
 public:
  /// Takes out of `json`, the next line, what is not the measurement's own.
  Status Take(nlohmann::json& json, const std::string& where) {
    const bool has_checksum = json.is_object() && json.contains(kChecksumField);
    if (is_first_) {
      has_checksums_ = has_checksum;
    } else if (has_checksum != has_checksums_) {
      return Status::InvalidArgument(
          fmt::format("{}: '{}' stands on some lines only: import each file by itself", where, kChecksumField));
    } else if (!more_) {
      return OthersFollow(where);
    }
    is_first_ = false;
    return has_checksum ? TakeMarks(json, where) : Status::Ok();
  }

  /// At the end, behind the line that `where` names.
  Status End(const std::string& where) const { return has_checksums_ && more_ ? FileIsCutOff(where) : Status::Ok(); }

 private:
  Status TakeMarks(nlohmann::json& json, const std::string& where) {
    std::string checksum;
    for (const Status& read : {ReadField(json, kChecksumField, checksum), ReadField(json, kMoreField, more_)}) {
      if (!read.ok()) {
        return read.WithContext(where);
      }
    }
    json.erase(kChecksumField);
    json.erase(kMoreField);
    return chain_.Check(json, checksum, where);
  }

  ContentChain chain_;
  bool is_first_ = true;
  bool has_checksums_ = false;
  bool more_ = true;
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
  LineCheck check;
  std::string where = path;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (Trim(line).empty()) {
      continue;
    }
    where = fmt::format("{}:{}", path, number);
    ASSAY_ASSIGN_OR_RETURN(nlohmann::json json, ParseJson(line, where));
    ASSAY_RETURN_IF_ERROR(check.Take(json, where));
    ASSAY_ASSIGN_OR_RETURN(Measurement measurement, WholeMeasurement(json, where));
    ASSAY_RETURN_IF_ERROR(take(std::move(measurement)));
  }
  return file.bad() ? ErrnoStatus(errno, "read", path) : check.End(where);
}

}  // namespace assay::samplestore
