#include "experiment/fine_tuning/fine_tuning.h"

namespace assay::experiment {
namespace {

int64_t TokensOfRows(const data::TokenFile& file, int64_t rows, int64_t max_length) {
  int64_t tokens = 0;
  for (int64_t row = 0; row < rows; ++row) {
    tokens += static_cast<int64_t>(file.row(row, max_length).ids.size());
  }
  return tokens;
}

int64_t TokensBefore(const data::TokenFile& file, int64_t row, int64_t max_length) {
  const int64_t epochs = row / file.rows();
  const int64_t whole = epochs == 0 ? 0 : epochs * TokensOfRows(file, file.rows(), max_length);
  return whole + TokensOfRows(file, row % file.rows(), max_length);
}

}  // namespace

int64_t FileOrderTokens(const data::TokenFile& file, int64_t first_row, int64_t end_row, int64_t max_length) {
  return TokensBefore(file, end_row, max_length) - TokensBefore(file, first_row, max_length);
}

}  // namespace assay::experiment
