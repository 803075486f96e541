#include "samplestore/exchange/parquet_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/files.h"
#include "report/export/parquet.h"
#include "samplestore/exchange/content_chain.h"
#include "samplestore/exchange/fields.h"
#include "shards/convert/parquet/parquet_stream.h"
#include "storage/open.h"
#include "storage/transfers.h"

namespace assay::samplestore {
namespace {

constexpr size_t kGroupRows = 1000;
constexpr size_t kGroupBytes = size_t{32} << 20;

report::Table EmptyTable() {
  report::Table table;
  for (const std::string_view name : FieldNames()) {
    table.push_back({.name = std::string(name), .type = report::ColumnType::kText, .cells = {}});
  }
  return table;
}

class ParquetFileWriter final : public MeasurementWriter {
 public:
  explicit ParquetFileWriter(AtomicFile file) : file_(std::move(file)) {}

  Status Begin() { return file_.Write(parquet_.Begin()); }

  Status Write(const Measurement& measurement) override {
    std::vector<std::string> fields = FieldsOf(measurement, chain_);
    for (size_t i = 0; i < fields.size(); ++i) {
      waiting_bytes_ += fields[i].size();
      waiting_[i].cells.emplace_back(std::move(fields[i]));
    }
    const bool is_full = waiting_[0].cells.size() >= kGroupRows || waiting_bytes_ >= kGroupBytes;
    return is_full ? WriteGroup() : Status::Ok();
  }

  Status Commit() override {
    if (!waiting_[0].cells.empty()) {
      ASSAY_RETURN_IF_ERROR(WriteGroup());
    }
    ASSAY_RETURN_IF_ERROR(file_.Write(parquet_.End(waiting_)));
    return file_.Commit();
  }

 private:
  Status WriteGroup() {
    ASSAY_RETURN_IF_ERROR(file_.Write(parquet_.AddRows(waiting_)));
    waiting_ = EmptyTable();
    waiting_bytes_ = 0;
    return Status::Ok();
  }

  AtomicFile file_;
  ContentChain chain_;
  report::ParquetWriter parquet_{"measurements", "assay store export"};
  report::Table waiting_ = EmptyTable();
  size_t waiting_bytes_ = 0;
};

Result<shards::SourceFile> SourceOf(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(storage::StoreAndKey place, storage::OpenStore(path, storage::StoreOptions()));
  ASSAY_ASSIGN_OR_RETURN(std::optional<storage::ObjectInfo> info, place.store->Stat(place.key));
  if (!info) {
    return Status::NotFound(fmt::format("cannot read {}: there is no such file", path));
  }
  return shards::SourceFile{
      .store = std::move(place.store), .info = *std::move(info), .format = shards::RowFormat::kParquet};
}

/// Of a batch, the columns in the order of FieldNames(); null for one that is not there.
Result<std::vector<const shards::BatchColumn*>> ColumnsOf(const shards::ColumnBatch& batch,
                                                          std::span<const std::string_view> names,
                                                          std::span<const size_t> places, const std::string& path) {
  std::vector<const shards::BatchColumn*> columns;
  for (const size_t place : places) {
    if (place == kNoPlace) {
      columns.push_back(nullptr);
      continue;
    }
    const auto found = std::ranges::find(batch.columns, names[place], &shards::BatchColumn::name);
    if (found == batch.columns.end() || found->kind != shards::BatchColumn::Kind::kText) {
      return Status::InvalidArgument(
          fmt::format("{}: column '{}' must hold texts, as `assay store export` writes them", path, names[place]));
    }
    columns.push_back(&*found);
  }
  return columns;
}

/// `reader` begins with the first batch of the file.
Status TakeBatch(const shards::ColumnBatch& batch, const std::string& path, int64_t first_row,
                 std::optional<FieldReader>& reader, const std::function<Status(Measurement)>& take) {
  const std::vector<std::string_view> names(batch.names.begin(), batch.names.end());
  ASSAY_ASSIGN_OR_RETURN(const std::vector<size_t> places, PlacesOfFields(names, path));
  ASSAY_ASSIGN_OR_RETURN(const auto columns, ColumnsOf(batch, names, places, path));
  if (!reader) {
    reader.emplace(places);
  }
  std::vector<std::string_view> fields(columns.size());
  shards::Field field;
  for (int64_t row = 0; row < batch.rows; ++row) {
    for (size_t i = 0; i < columns.size(); ++i) {
      field.text = {};
      if (columns[i] != nullptr) {
        columns[i]->Read(row, field);
      }
      fields[i] = field.text;
    }
    ASSAY_ASSIGN_OR_RETURN(Measurement measurement,
                           reader->Read(fields, fmt::format("{}: row {}", path, first_row + row + 1)));
    ASSAY_RETURN_IF_ERROR(take(std::move(measurement)));
  }
  return Status::Ok();
}

}  // namespace

Result<std::unique_ptr<MeasurementWriter>> CreateParquetFile(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::Create(path));
  auto writer = std::make_unique<ParquetFileWriter>(std::move(file));
  ASSAY_RETURN_IF_ERROR(writer->Begin());
  return std::unique_ptr<MeasurementWriter>(std::move(writer));
}

Status ReadParquetFile(const std::string& path, const std::function<Status(Measurement)>& take) {
  ASSAY_ASSIGN_OR_RETURN(const shards::SourceFile source, SourceOf(path));
  storage::Transfers transfers;
  ASSAY_ASSIGN_OR_RETURN(shards::ParquetStream stream, shards::ParquetStream::Open(source, transfers, 0, {}));
  std::optional<FieldReader> reader;
  for (int64_t row = 0;;) {
    ASSAY_ASSIGN_OR_RETURN(const std::shared_ptr<const shards::ColumnBatch> batch, stream.Next());
    if (batch == nullptr) {
      return Status::Ok();
    }
    ASSAY_RETURN_IF_ERROR(TakeBatch(*batch, path, row, reader, take));
    row += batch->rows;
  }
}

}  // namespace assay::samplestore
