#include "engine/train/streamed_rows.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/files.h"
#include "data/prepare.h"
#include "data/rows.h"
#include "engine/model/status_error.h"
#include "shards/format/row_json.h"
#include "storage/open.h"
#include "storage/read_options.h"

namespace assay::engine {
namespace {

/// Steps that are tokenised and not trained on yet.
constexpr size_t kStepsAhead = 8;
constexpr int kFetchThreads = 2;

std::vector<shards::StreamSource> open_source(const job::TunePlan& plan, storage::CancelFlag cancel) {
  const storage::StoreUri uri = value_or_throw(storage::ParseStoreUri(plan.data_uri));
  const storage::StoreOptions options = value_or_throw(storage::LoadStoreOptions(uri.scheme, ""));
  storage::StoreAndKey at = value_or_throw(storage::OpenStore(plan.data_uri, options));
  std::vector<shards::StreamSource> sources(1);
  sources.front().dataset = value_or_throw(
      shards::OpenDataset({.store = std::move(at.store), .prefix = std::move(at.key), .cancel = cancel}));
  if (sources.front().dataset.fingerprint() != plan.data_fingerprint) {
    throw StatusError(Status::FailedPrecondition(
        fmt::format("the data set at {} is another than when the run was planned: start it again", plan.data_uri)));
  }
  return sources;
}

/// One rank as far as the stream knows: what a step's ranks have of its rows is dealt behind it.
shards::StreamOptions stream_options(const job::TunePlan& plan, int64_t rows_of_step) {
  shards::OrderSettings order{.seed = plan.seed, .batch = rows_of_step};
  if (!plan.shuffle) {
    order.shuffle.reset();
  }
  return {.order = value_or_throw(shards::ResolveOrder(order, shards::World{})),
          .threads = kFetchThreads,
          .cache_folder = plan.data_cache};
}

}  // namespace

StreamedRows::StreamedRows(const job::TunePlan& plan, int64_t rows_of_step)
    : sources_(open_source(plan, &is_over_)),
      options_(stream_options(plan, rows_of_step)),
      rows_(sources_.front().dataset.index.samples()) {
  std::optional<data::Tokenizer> tokenizer;
  if (!plan.tokenizer.empty()) {
    tokenizer = value_or_throw(data::LoadTokenizerFolder(plan.tokenizer));
    vocab_size_ = tokenizer->vocab_size();
  }
  const int64_t cut = data::TokenizedLength(plan.model_max_length);
  encoder_ = std::make_unique<const data::RowEncoder>(
      value_or_throw(data::RowEncoder::Create(std::move(tokenizer), plan.response_template, cut)));
  if (!plan.resume) {
    begin(1);
  }
}

StreamedRows::~StreamedRows() {
  end();
}

void StreamedRows::begin(int64_t step) {
  end();
  shards::StreamOptions options = options_;
  options.begin = {.epoch = static_cast<uint64_t>((step - 1) / steps_per_epoch()),
                   .samples = (step - 1) % steps_per_epoch() * options.order.batch};
  std::unique_ptr<shards::SampleStream> stream = value_or_throw(shards::SampleStream::Open(sources_, options));
  next_step_ = step;
  thread_ = std::thread([this, stream = std::move(stream)] { read_ahead(*stream); });
}

void StreamedRows::end() {
  if (!thread_.joinable()) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
  is_over_ = false;
  ready_.clear();
}

std::vector<data::TokenRow> StreamedRows::rows_of(int64_t step) {
  if (step != next_step_) {
    begin(step);
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty(); });
  throw_if_error(ready_.front().status());
  std::vector<data::TokenRow> rows = *std::move(ready_.front());
  ready_.pop_front();
  changed_.notify_all();
  ++next_step_;
  return rows;
}

void StreamedRows::read_ahead(shards::SampleStream& stream) {
  bool more = true;
  while (more) {
    StepRows rows = read_step(stream);
    more = rows.ok();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return is_over_ || ready_.size() < kStepsAhead; });
    if (is_over_) {
      return;
    }
    ready_.push_back(std::move(rows));
    changed_.notify_all();
  }
}

StreamedRows::StepRows StreamedRows::read_step(shards::SampleStream& stream) const {
  std::vector<data::TokenRow> rows;
  while (static_cast<int64_t>(rows.size()) < options_.order.batch) {
    ASSAY_ASSIGN_OR_RETURN(const auto sample, stream.Next());
    if (sample) {
      ASSAY_ASSIGN_OR_RETURN(data::TokenRow row, encode(*sample));
      rows.push_back(std::move(row));
      continue;
    }
    ASSAY_RETURN_IF_ERROR(stream.NextEpoch());
    if (!rows.empty()) {
      break;
    }
  }
  return rows;
}

Result<data::TokenRow> StreamedRows::encode(const shards::StreamedSample& sample) const {
  shards::Row row;
  std::string scratch;
  std::string json;
  const std::string where = fmt::format("sample {}", sample.number);
  ASSAY_RETURN_IF_ERROR(shards::DecodeSample(*sample.schema, sample.bytes, row, scratch).WithContext(where));
  shards::AppendRowJson(sample.schema->columns, row, json);
  Result<data::Row> parsed = data::ParseRow(json);
  ASSAY_RETURN_IF_ERROR(parsed.status().WithContext(where));
  Result<data::TokenRow> encoded = encoder_->Encode(*parsed);
  return encoded.ok() ? std::move(encoded) : encoded.status().WithContext(where);
}

std::string order_of_streamed(const job::TunePlan& plan) {
  const shards::OrderSettings order = stream_options(plan, 1).order;
  return order.shuffle ? fmt::format("{} in blocks of {}", shards::NameOf(*order.shuffle), order.block)
                       : "that of the shards";
}

data::TokenFile longest_rows(const job::TunePlan& plan, int64_t vocab_size) {
  const TemporaryDirectory folder = value_or_throw(TemporaryDirectory::Create("assay-rows"));
  const std::string path = folder.path() + "/longest.tokens";
  const auto length = static_cast<size_t>(plan.model_max_length);
  const data::TokenRow row{.ids = std::vector<int32_t>(length), .labels = std::vector<int32_t>(length)};
  throw_if_error(data::WriteTokenFile(path, std::vector(static_cast<size_t>(plan.batch_size), row), vocab_size));
  return value_or_throw(data::TokenFile::Open(path));
}

}  // namespace assay::engine
