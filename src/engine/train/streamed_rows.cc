#include "engine/train/streamed_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/files.h"
#include "data/prepare.h"
#include "data/rows.h"
#include "shards/format/row_json.h"

namespace assay::engine {

StreamedRows::StreamedRows(const job::TunePlan& plan, int64_t rows_of_step)
    : steps_(StreamedSource(plan, {.batch = rows_of_step}),
             [this](const shards::StreamedSample& sample) { return encode(sample); }) {
  const int64_t cut = data::TokenizedLength(plan.model_max_length);
  encoder_ = std::make_unique<const data::RowEncoder>(
      value_or_throw(data::RowEncoder::Open(plan.tokenizer, plan.response_template, cut)));
  vocab_size_ = std::max(vocab_size_, encoder_->vocab_size());
  if (!plan.resume) {
    steps_.begin(1);
  }
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

data::TokenFile longest_rows(const job::TunePlan& plan, int64_t vocab_size) {
  const TemporaryDirectory folder = value_or_throw(TemporaryDirectory::Create("assay-rows"));
  const std::string path = folder.path() + "/longest.tokens";
  const auto length = static_cast<size_t>(plan.model_max_length);
  const data::TokenRow row{.ids = std::vector<int32_t>(length), .labels = std::vector<int32_t>(length)};
  throw_if_error(data::WriteTokenFile(path, std::vector(static_cast<size_t>(plan.batch_size), row), vocab_size));
  return value_or_throw(data::TokenFile::Open(path));
}

}  // namespace assay::engine
