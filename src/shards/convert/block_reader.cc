#include "shards/convert/block_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "shards/convert/csv.h"
#include "shards/format/json_row.h"
#include "shards/format/webdataset.h"

namespace assay::shards {
namespace {

constexpr size_t kBlockBytes = size_t{4} << 20;
constexpr size_t kLongestRecord = size_t{1} << 30;
constexpr int64_t kRangeBytes = int64_t{8} << 20;
constexpr size_t kRangesAhead = 6;

}  // namespace

BlockReader::BlockReader(const SourceFile& source, storage::Transfers& transfers, int64_t offset)
    : source_(&source), transfers_(&transfers), offset_(offset), asked_(offset) {}

BlockReader::~BlockReader() {
  for (const Range& range : ahead_) {
    range.transfer->Cancel();
    (void)range.transfer->Wait();
  }
}

Result<BlockReader> BlockReader::Open(const SourceFile& source, storage::Transfers& transfers, int64_t offset,
                                      std::span<const Column> columns) {
  BlockReader reader(source, transfers, offset);
  if (source.format == RowFormat::kParquet) {
    ASSAY_ASSIGN_OR_RETURN(ParquetStream parquet, ParquetStream::Open(source, transfers, offset, columns));
    reader.parquet_.emplace(std::move(parquet));
    return reader;
  }
  if (source.format != RowFormat::kSynthetic && source.store->as_files() != nullptr && source.info.size > 0) {
    ASSAY_ASSIGN_OR_RETURN(reader.file_, ReadBlob({.store = source.store}, source.info.key, source.info.size));
    reader.text_ = reader.file_.text().substr(static_cast<size_t>(offset));
  }
  return reader;
}

void BlockReader::FetchAhead() {
  while (ahead_.size() < kRangesAhead && asked_ < source_->info.size) {
    const int64_t bytes = std::min(kRangeBytes, source_->info.size - asked_);
    Range range{.blob = NewBlob::Of(static_cast<size_t>(bytes)), .transfer = nullptr};
    storage::ReadOptions options{.if_match = source_->info.etag};
    range.transfer = transfers_->Read(*source_->store, source_->info.key,
                                      {{.offset = asked_, .memory = range.blob.memory}}, std::move(options));
    ahead_.push_back(std::move(range));
    asked_ += bytes;
  }
}

Status BlockReader::Fill(size_t bytes) {
  if (file_.owner || text_.size() >= bytes || at_end()) {
    return Status::Ok();
  }
  auto longer = std::make_shared<std::string>();
  longer->reserve(bytes + static_cast<size_t>(kRangeBytes) + JsonRowReader::kPaddingBytes);
  *longer = text_;
  while (longer->size() < bytes && offset_ + static_cast<int64_t>(longer->size()) < source_->info.size) {
    FetchAhead();
    const Range range = std::move(ahead_.front());
    ahead_.pop_front();
    ASSAY_RETURN_IF_ERROR(range.transfer->Wait().status());
    longer->append(reinterpret_cast<const char*>(range.blob.memory.data()), range.blob.memory.size());
  }
  FetchAhead();
  fetched_ = std::move(longer);
  text_ = *fetched_;
  return Status::Ok();
}

Result<size_t> BlockReader::EndOfRecords(size_t within) const {
  const std::string_view window = text_.substr(0, within);
  const bool is_rest = window.size() == text_.size() && at_end();
  if (source_->format == RowFormat::kJsonLines) {
    return is_rest ? window.size() : window.rfind('\n') + 1;
  }
  if (source_->format == RowFormat::kImages) {
    return is_rest ? window.size() : 0;
  }
  if (source_->format == RowFormat::kTar) {
    return is_rest ? Result<size_t>(window.size())
                   : EndOfWholeSamples(std::as_bytes(std::span(window)), static_cast<uint64_t>(offset_));
  }
  size_t end = 0;
  while (const auto next = CsvRecordEnd(window.substr(end), SeparatorOf(source_->format), is_rest)) {
    end += *next;
  }
  return end;
}

RowBlock BlockReader::Cut(size_t bytes) {
  RowBlock block{.owner = file_, .text = text_.substr(0, bytes), .offset = offset_};
  const bool padded = text_.size() >= bytes + JsonRowReader::kPaddingBytes;
  if (!padded) {
    auto copy = std::make_shared<std::string>(block.text);
    copy->append(JsonRowReader::kPaddingBytes, '\0');
    block.text = std::string_view(*copy).substr(0, bytes);
    block.owner = {.owner = copy, .bytes = {}};
  } else if (fetched_) {
    block.owner = {.owner = fetched_, .bytes = {}};
  }
  text_.remove_prefix(bytes);
  offset_ += static_cast<int64_t>(bytes);
  return block;
}

std::optional<RowBlock> BlockReader::NextDrawn() {
  const int64_t rows =
      std::clamp<int64_t>(static_cast<int64_t>(kBlockBytes) / source_->synthetic->row_bytes(), 1, 4096);
  const RowBlock block{
      .owner = {}, .text = {}, .offset = offset_, .rows = std::min(rows, source_->info.size - offset_)};
  offset_ += block.rows;
  return block.rows > 0 ? std::optional(block) : std::nullopt;
}

Result<std::optional<RowBlock>> BlockReader::NextColumns() {
  ASSAY_ASSIGN_OR_RETURN(std::shared_ptr<const ColumnBatch> columns, parquet_->Next());
  if (!columns) {
    return std::optional<RowBlock>();
  }
  RowBlock block{.owner = {}, .text = {}, .offset = offset_, .rows = columns->rows};
  offset_ += columns->rows;
  block.columns = std::move(columns);
  return std::optional(std::move(block));
}

Result<std::optional<RowBlock>> BlockReader::Next() {
  if (parquet_) {
    return NextColumns();
  }
  if (source_->format == RowFormat::kSynthetic) {
    return NextDrawn();
  }
  for (size_t wanted = kBlockBytes;; wanted *= 2) {
    ASSAY_RETURN_IF_ERROR(Fill(wanted));
    if (text_.empty()) {
      return std::optional<RowBlock>();
    }
    const Result<size_t> end = EndOfRecords(wanted);
    ASSAY_RETURN_IF_ERROR(end.status().WithContext(source_->uri()));
    if (*end > 0) {
      return std::optional(Cut(*end));
    }
    if (wanted >= kLongestRecord) {
      return Status::InvalidArgument(fmt::format("{}: the record at byte {} has more than 1 GiB: are these {}?",
                                                 source_->uri(), offset_, NameOf(source_->format)));
    }
  }
}

}  // namespace assay::shards
