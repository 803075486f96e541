// Prints the tokens and labels of a data set as JSON lines, for tests against a reference implementation.
//
//   encode_rows DATA TOKENIZER_DIR RESPONSE_TEMPLATE MAX_LENGTH CACHE_DIR
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json.h"
#include "data/prepare.h"
#include "data/token_file.h"

namespace assay::data {
namespace {

Status PrintRows(const DataSpec& spec) {
  ASSAY_ASSIGN_OR_RETURN(const PreparedTokens prepared, PrepareTokens(spec));
  ASSAY_ASSIGN_OR_RETURN(const TokenFile file, TokenFile::Open(prepared.tokens_file));
  for (int64_t i = 0; i < file.rows(); ++i) {
    const TokenRowView row = file.row(i, spec.max_length);
    const nlohmann::json line = {{"input_ids", row.ids}, {"labels", row.labels}, {"line", row.line}};
    fmt::print("{}\n", DumpJson(line));
  }
  return Status::Ok();
}

}  // namespace
}  // namespace assay::data

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: encode_rows DATA TOKENIZER_DIR RESPONSE_TEMPLATE MAX_LENGTH CACHE_DIR\n");
    return 2;
  }
  assay::data::DataSpec spec;
  spec.data = argv[1];
  spec.tokenizer_dir = argv[2];
  spec.response_template = argv[3];
  spec.max_length = std::atoll(argv[4]);
  spec.cache_dir = argv[5];
  const assay::Status status = assay::data::PrintRows(spec);
  if (!status.ok()) {
    fmt::print(stderr, "{}\n", status.message());
  }
  return assay::ExitCode(status);
}
