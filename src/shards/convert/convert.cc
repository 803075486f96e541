#include "shards/convert/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "base/job_pool.h"
#include "shards/convert/claim.h"
#include "shards/convert/encode_block.h"
#include "shards/convert/infer_columns.h"
#include "shards/convert/journal.h"
#include "shards/convert/output.h"
#include "shards/convert/publish.h"
#include "shards/convert/spare_buffers.h"
#include "shards/format/digest.h"
#include "shards/format/webdataset.h"
#include "storage/store_checks.h"

namespace assay::shards {
namespace {

/// Gives the blocks of all sources, one after the other.
class BlockWalk {
 public:
  struct Step {
    size_t source;
    RowBlock block;
  };

  BlockWalk(std::span<const SourceFile> sources, std::span<const SourceHead> heads, storage::Transfers& transfers,
            const RowPosition& from, std::span<const Column> columns = {})
      : sources_(sources),
        heads_(heads),
        transfers_(transfers),
        columns_(columns),
        source_(static_cast<size_t>(from.source)),
        offset_(from.offset) {}

  Result<std::optional<Step>> Next() {
    for (; source_ < sources_.size(); ++source_, reader_.reset()) {
      if (!reader_) {
        auto opened =
            BlockReader::Open(sources_[source_], transfers_, offset_.value_or(heads_[source_].bytes), columns_);
        ASSAY_RETURN_IF_ERROR(opened.status());
        reader_ = std::make_unique<BlockReader>(*std::move(opened));
        offset_.reset();
      }
      ASSAY_ASSIGN_OR_RETURN(std::optional<RowBlock> block, reader_->Next());
      if (block) {
        block->source = static_cast<int64_t>(source_);
        return std::optional(Step{source_, *std::move(block)});
      }
    }
    return std::optional<Step>();
  }

 private:
  const std::span<const SourceFile> sources_;
  const std::span<const SourceHead> heads_;
  storage::Transfers& transfers_;
  const std::span<const Column> columns_;  // none: all
  size_t source_;
  std::optional<int64_t> offset_;  // of the first block; then where rows begin
  std::unique_ptr<BlockReader> reader_;
};

/// Where a block comes from.
struct BlockPlace {
  size_t source;
  int64_t offset;
  int64_t source_size;
};

class Conversion {
 public:
  Conversion(std::span<const SourceFile> sources, const DatasetPlace& place, const ConvertOptions& options)
      : sources_(sources), place_(place), options_(options) {}

  Result<ConvertReport> Run() {
    if (options_.resume) {
      ASSAY_ASSIGN_OR_RETURN(const bool published, IsPublished(place_));
      if (published) {
        return EndPublished();
      }
    }
    ASSAY_RETURN_IF_ERROR(OpenBase());
    ASSAY_RETURN_IF_ERROR(ReadHeads());
    ASSAY_RETURN_IF_ERROR(MakeSchema());
    const std::string plan = FormatPlan(sources_, *schema_, TokenizerHash(), base_ ? base_->manifest->version + 1 : 1);
    ASSAY_RETURN_IF_ERROR(options_.resume ? ReclaimPlace(place_, plan) : ClaimPlace(place_, plan));
    Result<ConvertReport> report = WriteAndPublish();
    if (!report.ok() && report.status().code() == ErrorCode::kInvalidArgument) {
      ASSAY_RETURN_IF_ERROR(RemoveWritten().WithContext(report.status().message()));
    }
    return report;
  }

 private:
  /// What stands at the place already.
  Status OpenBase() {
    if (options_.append) {
      ASSAY_ASSIGN_OR_RETURN(Dataset base, OpenDataset(place_));
      if (!base.manifest || base.index.shards.empty()) {
        return Status::FailedPrecondition(
            fmt::format("{} has no {}: only what assay wrote is appended to", place_.Uri(), kManifestName));
      }
      base_ = std::move(base);
      return Status::Ok();
    }
    for (const char* name : {kManifestName, kIndexName}) {
      ASSAY_ASSIGN_OR_RETURN(const auto stands, place_.store->Stat(place_.Key(name)));
      if (stands) {
        return Status::FailedPrecondition(
            fmt::format("a data set stands at {}: take another place, or --append to it", place_.Uri()));
      }
    }
    return Status::Ok();
  }

  Status ReadHeads() {
    for (const SourceFile& source : sources_) {
      ASSAY_ASSIGN_OR_RETURN(SourceHead head, ReadSourceHead(source, transfers_));
      heads_.push_back(std::move(head));
    }
    return Status::Ok();
  }

  std::string TokenizerHash() const { return options_.tokenizer ? options_.tokenizer->hash : std::string(); }

  Status CheckTokenizer() const {
    const auto other = std::ranges::find_if(sources_, [](const SourceFile& source) {
      return source.format != RowFormat::kJsonLines && source.format != RowFormat::kParquet;
    });
    if (options_.tokenizer && other != sources_.end()) {
      return Status::InvalidArgument(
          fmt::format("{}: tokens are made of JSON lines and of Parquet: leave --tokenizer out", other->uri()));
    }
    if (base_ && base_->manifest->tokenizer_hash != TokenizerHash()) {
      return Status::InvalidArgument(fmt::format(
          "{} {}: append with the same --tokenizer", place_.Uri(),
          base_->manifest->tokenizer_hash.empty() ? "holds no tokens" : "holds tokens of another tokenizer"));
    }
    return Status::Ok();
  }

  Result<std::vector<Column>> WithTokens(std::vector<Column> columns) const {
    return options_.tokenizer ? TokenColumns::AddTo(std::move(columns)) : Result(std::move(columns));
  }

  Status MakeSchema() {
    strict_ = options_.columns.empty();
    ASSAY_RETURN_IF_ERROR(CheckTokenizer());
    if (base_) {
      schema_ = base_->index.shards.back().schema;
      ShardSchema given = *schema_;
      ASSAY_ASSIGN_OR_RETURN(given.columns, WithTokens(options_.columns));
      if (options_.format != ShardFormat::kMds && options_.format != schema_->format) {
        return Status::InvalidArgument(
            fmt::format("{} holds {}: append in that format", place_.Uri(), schema_->format_name));
      }
      if (!options_.columns.empty() && FormatSchema(given) != FormatSchema(*schema_)) {
        return Status::InvalidArgument(fmt::format("{} has other columns than --columns names", place_.Uri()));
      }
    } else {
      ShardSchema schema{.format = options_.format,
                         .format_name = std::string(IndexNameOf(options_.format)),
                         .columns = options_.columns,
                         .compression = options_.compression,
                         .hashes = options_.hashes,
                         .size_limit = options_.size_limit};
      if (schema.columns.empty()) {
        ASSAY_ASSIGN_OR_RETURN(schema.columns, Infer());
      }
      ASSAY_ASSIGN_OR_RETURN(schema.columns, WithTokens(std::move(schema.columns)));
      if (schema.format == ShardFormat::kWebDataset) {
        ASSAY_RETURN_IF_ERROR(CheckWebColumns(schema.columns));
      }
      schema_ = std::make_shared<const ShardSchema>(std::move(schema));
    }
    std::optional<TokenColumns> tokens;
    if (options_.tokenizer) {
      tokens.emplace(schema_->columns, *options_.tokenizer);
    }
    const VersionBegin begin =
        base_ ? VersionBegin{base_->manifest->version + 1, base_->index.samples()} : VersionBegin{};
    encoder_.emplace(schema_, strict_, begin, std::move(tokens));
    for (size_t i = 0; i < sources_.size(); ++i) {
      ASSAY_RETURN_IF_ERROR(encoder_->CheckHead(sources_[i], heads_[i]));
    }
    return Status::Ok();
  }

  /// The columns of the first source that has rows.
  Result<std::vector<Column>> Infer() {
    if (sources_.front().format == RowFormat::kSynthetic) {
      return sources_.front().synthetic->Columns();
    }
    if (sources_.front().format == RowFormat::kImages) {
      return ColumnsOfImages(sources_);
    }
    BlockWalk walk(sources_, heads_, transfers_, StartOf());
    ASSAY_ASSIGN_OR_RETURN(const auto first, walk.Next());
    if (!first) {
      return Status::InvalidArgument(fmt::format("{} holds no rows", sources_.front().uri()));
    }
    ASSAY_ASSIGN_OR_RETURN(std::vector<Column> columns,
                           InferColumns(sources_[first->source], heads_[first->source], first->block));
    return columns.empty() ? Result<std::vector<Column>>(Status::InvalidArgument(
                                 fmt::format("{} holds no rows with columns", sources_[first->source].uri())))
                           : std::move(columns);
  }

  RowPosition StartOf() const { return {.source = 0, .offset = heads_.front().bytes, .line = heads_.front().lines}; }

  Result<ConvertReport> WriteAndPublish() {
    const int64_t first = base_ ? static_cast<int64_t>(base_->index.shards.size()) : 0;
    std::vector<WrittenShard> written;
    if (options_.resume) {
      ASSAY_ASSIGN_OR_RETURN(written, ReadJournal(place_, first));
      std::ranges::for_each(written, [this](WrittenShard& shard) { shard.entry.schema = schema_; });
    }
    const auto resumed = static_cast<int64_t>(written.size());
    ASSAY_ASSIGN_OR_RETURN(written, EncodeRows(std::move(written), first));
    if (written.empty()) {
      return Status::InvalidArgument(fmt::format("{} holds no rows", sources_.front().uri()));
    }
    ASSAY_ASSIGN_OR_RETURN(const Manifest manifest,
                           PublishVersion(place_, transfers_, base_ ? &*base_ : nullptr, written, TokenizerHash()));
    ASSAY_RETURN_IF_ERROR(RemoveJournal(place_));
    return ReportOf(manifest, written, resumed);
  }

  Result<std::vector<WrittenShard>> EncodeRows(std::vector<WrittenShard> written, int64_t first) {
    const RowPosition from = written.empty() ? StartOf() : written.back().next;
    next_shard_ = first + static_cast<int64_t>(written.size());
    lines_.clear();
    for (const SourceHead& head : heads_) {
      lines_.push_back(head.lines);
    }
    lines_[static_cast<size_t>(from.source)] = from.line;
    position_ = from;
    JobPool pool(options_.threads);
    ShardOutput output(place_, pool, transfers_, options_.threads, std::move(written));
    ShardBuilder builder(schema_, next_shard_);
    Status encoded = EncodeBlocks(from, pool, builder, output);
    if (encoded.ok() && builder.samples() > 0) {
      encoded = GiveShard(builder, output);
    }
    if (encoded.ok() || encoded.code() == ErrorCode::kInvalidArgument) {
      return encoded.ok() ? output.Finish() : encoded;
    }
    (void)output.Finish();  // what stands is written down, for who goes on
    return encoded;
  }

  Status EncodeBlocks(const RowPosition& from, JobPool& pool, ShardBuilder& builder, ShardOutput& output) {
    BlockWalk walk(sources_, heads_, transfers_, from, encoder_->read());
    InOrder<EncodedBlock> encoding(pool);
    std::deque<BlockPlace> places;  // of the blocks that are encoded
    // A thread that waits does a job itself: with one there is nothing to have ready.
    const size_t most = options_.threads == 1 ? 1 : 2 * static_cast<size_t>(options_.threads);
    for (bool at_end = false; !at_end || !encoding.empty();) {
      while (!at_end && encoding.size() < most) {
        ASSAY_ASSIGN_OR_RETURN(auto step, walk.Next());
        at_end = !step;
        if (step) {
          places.push_back({step->source, step->block.offset, step->block.source_size()});
          encoding.Give([this, step = *std::move(step)] {
            const RowBlock& block = step.block;
            const size_t bytes = block.columns ? block.columns->memory.size() : block.text.size();
            return encoder_->Encode(sources_[step.source], heads_[step.source], block, spares_->Take(bytes));
          });
        }
      }
      if (!encoding.empty()) {
        EncodedBlock block = encoding.Take();
        const BlockPlace place = places.front();
        places.pop_front();
        ASSAY_RETURN_IF_ERROR(TakeBlock(std::move(block), place, builder, output));
      }
    }
    return Status::Ok();
  }

  Status TakeBlock(EncodedBlock block, const BlockPlace& place, ShardBuilder& builder, ShardOutput& output) {
    const size_t source = place.source;
    ASSAY_RETURN_IF_ERROR(CheckNotCancelled(source));
    const std::shared_ptr<const std::string> samples = spares_->Share(std::move(block.samples));
    size_t at = 0;
    for (size_t i = 0; i < block.records.size(); ++i) {
      const SampleRecord& record = block.records[i];
      if (builder.IsFullFor(record.bytes)) {
        ASSAY_RETURN_IF_ERROR(CheckNotCancelled(source));
        ASSAY_RETURN_IF_ERROR(GiveShard(builder, output));
      }
      builder.Add({samples, std::string_view(*samples).substr(at, record.bytes)}, record);
      at += record.bytes;
      position_ = {.source = static_cast<int64_t>(source),
                   .offset = place.offset + block.ends[i],
                   .line = lines_[source] + block.lines[i]};
    }
    if (!block.error.ok()) {
      return block.error.WithContext(
          fmt::format("{}:{}", sources_[source].uri(), lines_[source] + block.error_line + 1));
    }
    lines_[source] += block.line_count;
    if (options_.progress) {
      options_.progress(place.source_size);
    }
    return Status::Ok();
  }

  Status CheckNotCancelled(size_t source) const {
    return storage::IsCancelled(place_.cancel) ? storage::CancelledStatus("convert", sources_[source].uri())
                                               : Status::Ok();
  }

  Status GiveShard(ShardBuilder& builder, ShardOutput& output) {
    ASSAY_ASSIGN_OR_RETURN(BuiltShard shard, builder.Take());
    ++next_shard_;
    ASSAY_RETURN_IF_ERROR(output.Give(std::move(shard), position_));
    return Status::Ok();
  }

  /// Shards and notes of a conversion whose rows cannot be taken.
  Status RemoveWritten() {
    std::vector<std::string> keys;
    const int64_t first = base_ ? static_cast<int64_t>(base_->index.shards.size()) : 0;
    for (int64_t number = first; number < next_shard_; ++number) {
      keys.push_back(place_.Key(ShardName(*schema_, number, false, true)));
    }
    for (const Status& removed : place_.store->RemoveMany(keys)) {
      ASSAY_RETURN_IF_ERROR(removed);
    }
    return RemoveJournal(place_);
  }

  /// The same conversion was cut off between its last two steps: another one is refused, as anywhere before them.
  Result<ConvertReport> EndPublished() {
    ASSAY_ASSIGN_OR_RETURN(const Dataset dataset, OpenDataset(place_));
    if (dataset.manifest->tables.empty() || dataset.index.shards.empty()) {
      return Status::InvalidArgument(fmt::format("{} names no shards: it is damaged", place_.Uri(kManifestName)));
    }
    if (options_.append) {
      base_ = dataset;
    }
    ASSAY_RETURN_IF_ERROR(ReadHeads());
    ASSAY_RETURN_IF_ERROR(MakeSchema());
    ASSAY_RETURN_IF_ERROR(
        ReclaimPlace(place_, FormatPlan(sources_, *schema_, TokenizerHash(), dataset.manifest->version)));
    ASSAY_RETURN_IF_ERROR(RemoveJournal(place_));
    std::vector<WrittenShard> written;
    const auto of_version = static_cast<size_t>(dataset.manifest->tables.back().shards);
    for (size_t i = dataset.index.shards.size() - of_version; i < dataset.index.shards.size(); ++i) {
      written.push_back({.entry = dataset.index.shards[i], .proof = {}, .records = {}, .next = {}});
    }
    return ReportOf(*dataset.manifest, written, static_cast<int64_t>(written.size()));
  }

  ConvertReport ReportOf(const Manifest& manifest, const std::vector<WrittenShard>& written, int64_t resumed) const {
    ConvertReport report{.version = manifest.version,
                         .shards = static_cast<int64_t>(written.size()),
                         .resumed_shards = resumed,
                         .tokens = manifest.tokens,
                         .content_hash = manifest.content_hash,
                         .columns = written.front().entry.schema->columns};
    for (const SourceFile& source : sources_) {
      report.input_bytes += source.format == RowFormat::kSynthetic ? 0 : source.info.size;
    }
    for (const WrittenShard& shard : written) {
      report.rows += shard.entry.samples;
      report.raw_bytes += shard.entry.raw_data.bytes;
      report.stored_bytes += shard.entry.data().bytes;
    }
    return report;
  }

  const std::span<const SourceFile> sources_;
  const DatasetPlace& place_;
  const ConvertOptions& options_;
  const std::shared_ptr<SpareBuffers> spares_ = std::make_shared<SpareBuffers>();
  storage::Transfers transfers_;
  std::optional<Dataset> base_;
  std::vector<SourceHead> heads_;
  bool strict_ = false;
  std::shared_ptr<const ShardSchema> schema_;
  std::optional<BlockEncoder> encoder_;
  std::vector<int64_t> lines_;  // of each source, before the next block
  RowPosition position_;        // behind the last row that was taken
  int64_t next_shard_ = 0;
};

}  // namespace

Result<ConvertReport> Convert(std::span<const SourceFile> sources, const DatasetPlace& place,
                              const ConvertOptions& options) {
  if (sources.empty()) {
    return Status::InvalidArgument("there is nothing to convert");
  }
  ASSAY_RETURN_IF_ERROR(CheckHashNames(options.hashes));
  return Conversion(sources, place, options).Run();
}

}  // namespace assay::shards
