// Rows made into tokens for data sets of shards.
#pragma once

#include <string>

#include "base/status.h"
#include "shards/convert/row_tokens.h"

namespace assay::cli {

/// The tokens and labels that a training makes of the same rows, by the tokeniser of `model`: a folder with a
/// tokenizer.json, or what ResolveModel() knows. Rows are cut to the longest that a training may read.
Result<shards::RowTokenizer> MakeRowTokenizer(const std::string& model, const std::string& response_template);

}  // namespace assay::cli
