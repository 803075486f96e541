#include "cli/data_tokens.h"

#include <iterator>
#include <memory>
#include <utility>

#include "base/files.h"
#include "cli/options.h"
#include "data/model_catalogue.h"
#include "data/prepare.h"
#include "data/row_encoder.h"
#include "data/rows.h"

namespace assay::cli {
namespace {

/// The largest --model-max-length.
constexpr int64_t kLongestRow = 131072;

Result<shards::RowTokens> Tokenize(const data::RowEncoder& encoder, std::string_view json) {
  ASSAY_ASSIGN_OR_RETURN(const data::Row row, data::ParseRow(json));
  if (row.kind == data::RowKind::kTokens) {
    return Status::InvalidArgument(
        "the row has 'input_ids' of its own, which any tokenizer may have made: leave --tokenizer out");
  }
  ASSAY_ASSIGN_OR_RETURN(data::TokenRow tokens, encoder.Encode(row));
  return shards::RowTokens{.ids = std::move(tokens.ids), .labels = std::move(tokens.labels)};
}

}  // namespace

Result<shards::RowTokenizer> MakeRowTokenizer(const std::string& model, const std::string& response_template) {
  std::string folder = model;
  if (!FileExists(model + "/tokenizer.json")) {
    ASSAY_ASSIGN_OR_RETURN(const data::ModelRef ref, data::ResolveModel(model, ShareDirectory()));
    if (ref.tokenizer_dir.empty()) {
      return Status::InvalidArgument(ref.no_tokenizer);
    }
    folder = ref.tokenizer_dir;
  }
  ASSAY_ASSIGN_OR_RETURN(data::RowEncoder encoder, data::RowEncoder::Open(folder, response_template, kLongestRow));
  ASSAY_ASSIGN_OR_RETURN(std::string hash, data::HashRowEncoding(folder, response_template));
  auto shared = std::make_shared<const data::RowEncoder>(std::move(encoder));
  return shards::RowTokenizer{.tokenize = [shared](std::string_view json) { return Tokenize(*shared, json); },
                              .keys = {std::begin(data::kRowKeys), std::end(data::kRowKeys)},
                              .hash = std::move(hash)};
}

}  // namespace assay::cli
