#include "samplestore/exchange/published/published_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/files.h"
#include "report/export/csv.h"
#include "samplestore/exchange/csv_records.h"
#include "samplestore/exchange/published/published_row.h"

namespace assay::samplestore {
namespace {

constexpr std::string_view kNeeded[] = {"identifier", "experiment_id", "model_name",        "number_gpus",
                                        "gpu_model",  "batch_size",    "tokens_per_sample", "is_valid"};

class PublishedWriter final : public MeasurementWriter {
 public:
  explicit PublishedWriter(AtomicFile file) : file_(std::move(file)) {}

  Status WriteCells(const std::vector<std::string>& cells) {
    std::string line;
    report::AppendCsvLine(cells, line);
    return file_.Write(line);
  }

  Status Write(const Measurement& measurement) override {
    if (measurement.outcome == Outcome::kFailed) {
      return Status::Ok();
    }
    ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> cells, RowOfMeasurement(measurement));
    return WriteCells(cells);
  }

  Status Commit() override { return file_.Commit(); }

 private:
  AtomicFile file_;
};

Result<std::vector<std::string>> ReadNames(CsvRecords& records, const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const std::span<const std::string_view> header, records.Next());
  for (const std::string_view name : kNeeded) {
    if (std::ranges::find(header, name) == header.end()) {
      return Status::InvalidArgument(fmt::format(
          "{}: column '{}' is missing, which the published results of ado's SFTTrainer have: `assay store import` "
          "without --format reads what `assay store export` wrote",
          path, name));
    }
  }
  std::vector<std::string> names(header.begin(), header.end());
  for (const std::string& name : names) {
    if (std::ranges::count(names, name) > 1) {
      return Status::InvalidArgument(fmt::format("{}: column '{}' comes twice", path, name));
    }
  }
  return names;
}

Result<PublishedRow> ReadRow(CsvRecords& records, const std::vector<std::string>& names) {
  ASSAY_ASSIGN_OR_RETURN(const std::span<const std::string_view> fields, records.Next());
  if (fields.size() != names.size()) {
    return Status::InvalidArgument(
        fmt::format("{}: {} fields, where there are {} columns", records.Where(), fields.size(), names.size()));
  }
  PublishedRow row;
  for (size_t i = 0; i < names.size(); ++i) {
    row.emplace(names[i], fields[i]);
  }
  return row;
}

/// Goes through a file, which is read twice: nothing of one that is not whole is taken.
Status ForEachRow(const std::string& path, std::string_view text, const std::function<Status(Measurement)>& take) {
  CsvRecords records(path, text);
  ASSAY_ASSIGN_OR_RETURN(const std::vector<std::string> names, ReadNames(records, path));
  std::unordered_map<std::string, int64_t> repeats;
  while (!records.at_end()) {
    ASSAY_ASSIGN_OR_RETURN(const PublishedRow row, ReadRow(records, names));
    Result<Measurement> measurement = MeasurementOfRow(row, 0);
    if (measurement.ok()) {
      const int64_t repeat = repeats[measurement->uid]++;
      measurement = repeat == 0 ? std::move(measurement) : MeasurementOfRow(row, repeat);
    }
    if (!measurement.ok()) {
      return measurement.status().WithContext(records.Where());
    }
    ASSAY_RETURN_IF_ERROR(take(*std::move(measurement)));
  }
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<MeasurementWriter>> CreatePublishedFile(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  auto writer = std::make_unique<PublishedWriter>(std::move(file));
  ASSAY_RETURN_IF_ERROR(writer->WriteCells({PublishedColumns().begin(), PublishedColumns().end()}));
  return std::unique_ptr<MeasurementWriter>(std::move(writer));
}

Status ReadPublishedFile(const std::string& path, const std::function<Status(Measurement)>& take) {
  ASSAY_ASSIGN_OR_RETURN(const auto file, MappedFile::Open(path));
  ASSAY_RETURN_IF_ERROR(ForEachRow(path, file->text(), [](const Measurement&) { return Status::Ok(); }));
  return ForEachRow(path, file->text(), take);
}

}  // namespace assay::samplestore
