#include "samplestore/exchange/csv_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/files.h"
#include "report/export/csv.h"
#include "samplestore/exchange/content_chain.h"
#include "samplestore/exchange/csv_records.h"
#include "samplestore/exchange/fields.h"

namespace assay::samplestore {
namespace {

constexpr std::string_view kPublishedColumn = "experiment_id";

class CsvWriter final : public MeasurementWriter {
 public:
  explicit CsvWriter(AtomicFile file) : file_(std::move(file)) {
    last_.assign(FieldNames().begin(), FieldNames().end());
    last_.emplace_back(kMoreField);
  }

  Status Write(const Measurement& measurement) override {
    ASSAY_RETURN_IF_ERROR(WriteLast());
    last_ = FieldsOf(measurement, chain_);
    last_.emplace_back("True");
    ++count_;
    return Status::Ok();
  }

  Status Commit() override {
    if (count_ > 0) {
      last_.back() = "False";
    }
    ASSAY_RETURN_IF_ERROR(WriteLast());
    return file_.Commit();
  }

 private:
  Status WriteLast() {
    std::string line;
    report::AppendCsvLine(last_, line);
    return file_.Write(line);
  }

  AtomicFile file_;
  ContentChain chain_;
  std::vector<std::string> last_;  // which is written once it is known whether another one follows
  int64_t count_ = 0;
};

struct CsvColumns {
  std::vector<size_t> fields;  ///< where each of FieldNames() stands
  size_t more = 0;
  size_t count = 0;
};

Result<CsvColumns> ReadHeader(CsvRecords& records, const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const std::span<const std::string_view> header, records.Next());
  std::vector<std::string_view> names(header.begin(), header.end());
  const auto more = std::ranges::find(names, kMoreField);
  CsvColumns columns{.fields = {}, .more = static_cast<size_t>(more - names.begin()), .count = names.size()};
  const bool has_more = more != names.end();
  if (has_more) {
    names.erase(more);
  }
  if (std::ranges::find(names, kPublishedColumn) != names.end()) {
    return Status::InvalidArgument(
        fmt::format("{}: column '{}' is one of the published results of ado's SFTTrainer: import them with "
                    "--format published",
                    path, kPublishedColumn));
  }
  ASSAY_ASSIGN_OR_RETURN(columns.fields, PlacesOfFields(names, path));
  if (!has_more) {
    return Status::InvalidArgument(
        fmt::format("{}: column '{}' is missing, which says of each measurement whether another one follows: export it "
                    "again, and keep all columns",
                    path, kMoreField));
  }
  for (size_t& place : columns.fields) {
    place += place != kNoPlace && place >= columns.more ? 1 : 0;
  }
  return columns;
}

/// That all is there, before any of it is taken.
Status CheckWhole(CsvRecords records, const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const CsvColumns columns, ReadHeader(records, path));
  if (records.at_end()) {
    return Status::InvalidArgument(fmt::format(
        "{}: there is no measurement behind the names of the columns: the file is cut off, or was exported from a "
        "store without any",
        path));
  }
  while (!records.at_end()) {
    ASSAY_ASSIGN_OR_RETURN(const std::span<const std::string_view> fields, records.Next());
    if (fields.size() != columns.count) {
      return Status::InvalidArgument(
          fmt::format("{}: {} fields, where there are {} columns", records.Where(), fields.size(), columns.count));
    }
    if (fields[columns.more] != (records.at_end() ? "False" : "True")) {
      return records.at_end() ? FileIsCutOff(records.Where()) : OthersFollow(records.Where());
    }
  }
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<MeasurementWriter>> CreateCsvFile(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  return std::unique_ptr<MeasurementWriter>(std::make_unique<CsvWriter>(std::move(file)));
}

Status ReadCsvFile(const std::string& path, const std::function<Status(Measurement)>& take) {
  ASSAY_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  CsvRecords records(path, file->text());
  ASSAY_RETURN_IF_ERROR(CheckWhole(records, path));
  ASSAY_ASSIGN_OR_RETURN(const CsvColumns columns, ReadHeader(records, path));
  FieldReader reader(columns.fields);
  std::vector<std::string_view> ordered;
  while (!records.at_end()) {
    ASSAY_ASSIGN_OR_RETURN(const std::span<const std::string_view> fields, records.Next());
    ordered.clear();
    for (const size_t place : columns.fields) {
      ordered.push_back(place == kNoPlace ? std::string_view() : fields[place]);
    }
    ASSAY_ASSIGN_OR_RETURN(Measurement measurement, reader.Read(ordered, records.Where()));
    ASSAY_RETURN_IF_ERROR(take(std::move(measurement)));
  }
  return Status::Ok();
}

}  // namespace assay::samplestore
