#include "data/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/files.h"
#include "base/parallel.h"
#include "base/text.h"
#include "data/datasets.h"
#include "data/file_hash.h"
#include "data/jsonl_file.h"
#include "data/model_catalogue.h"
#include "data/token_file.h"
#include "data/tokenize_rows.h"

namespace assay::data {
namespace {

/// A change of the tokeniser's ids, of the masks or of the file's format must change this.
constexpr std::string_view kRowsCacheVersion = "4";
constexpr uint64_t kShortestCut = 256;

/// The id of a data set is that data set, whatever lies in the working folder: results are recorded under it.
bool NamesFile(const std::string& data) {
  return !IsKnownDataset(data) && (FileExists(data) || IsDirectory(data) || data.find('/') != std::string::npos);
}

Result<std::unique_ptr<RowSource>> OpenRows(const DataSpec& spec, const std::string& share_dir) {
  return NamesFile(spec.data) ? JsonlFile::Open(spec.data) : OpenDataset(spec.data, share_dir);
}

std::string ShareOf(const DataSpec& spec) {
  return spec.share_dir.empty() ? ShareDirectory() : spec.share_dir;
}

std::string CacheOf(const DataSpec& spec) {
  return spec.cache_dir.empty() ? UserCacheDirectory() : spec.cache_dir;
}

/// The files that decide what a tokeniser does.
constexpr std::array<std::string_view, 4> kTokenizerFiles = {"tokenizer.json", "tokenizer_config.json",
                                                             "special_tokens_map.json", "chat_template.jinja"};

/// The cached file, if it is whole and of these rows.
bool IsUsable(const std::string& path, int64_t rows) {
  if (!FileExists(path)) {
    return false;
  }
  const auto file = TokenFile::Open(path);
  return file.ok() && file->rows() == rows && file->CheckIds().ok();
}

int32_t LargestId(const TokenRowView& row) {
  return std::max(*std::ranges::max_element(row.ids), *std::ranges::max_element(row.labels));
}

/// Every id must have an embedding. Where a tokeniser could give larger ids than the rows have, it is the one that does
/// not fit; else the rows brought their ids themselves, and the first with too large a one is named.
Status CheckModelVocabulary(const TokenFile& file, const DataSpec& spec) {
  if (spec.model_vocab_size <= 0 || file.vocab_size() <= spec.model_vocab_size) {
    return Status::Ok();
  }
  int32_t largest = 0;
  int64_t first_row = -1;
  for (int64_t i = 0; i < file.rows(); ++i) {
    const int32_t id = LargestId(file.row(i, INT64_MAX));
    largest = std::max(largest, id);
    first_row = first_row < 0 && id >= spec.model_vocab_size ? i : first_row;
  }
  if (file.vocab_size() > largest + int64_t{1}) {
    return CheckVocabulary(spec.model_vocab_size, file.vocab_size());
  }
  const TokenRowView row = file.row(first_row, INT64_MAX);
  return Status::InvalidArgument(fmt::format(
      "{}:{}: the row has token id {}, beyond the model's vocabulary of {}; tokenise the data for this model",
      spec.data, row.line, LargestId(row), spec.model_vocab_size));
}

Status CheckSpec(const DataSpec& spec) {
  if (spec.data.empty()) {
    return Status::InvalidArgument("no data set is given; expected a JSONL file or the id of a data set");
  }
  if (spec.max_length < 2 || spec.max_length > (int64_t{1} << 30)) {
    return Status::InvalidArgument(
        fmt::format("a maximum length of {} tokens makes no sense; expected at least 2", spec.max_length));
  }
  return Status::Ok();
}

}  // namespace

Result<std::string> HashTokenizer(const std::string& folder) {
  std::string hashes;
  for (const std::string_view name : kTokenizerFiles) {
    const std::string path = fmt::format("{}/{}", folder, name);
    if (!folder.empty() && FileExists(path)) {
      ASSAY_ASSIGN_OR_RETURN(const std::string hash, Sha256HexOfFile(path));
      hashes += fmt::format("{} {}\n", name, hash);
    }
  }
  return hashes.starts_with(kTokenizerFiles[0]) ? Sha256Hex(hashes) : std::string();
}

Result<std::string> HashRowEncoding(const std::string& tokenizer_dir, const std::string& response_template) {
  ASSAY_ASSIGN_OR_RETURN(const std::string tokenizer, HashTokenizer(tokenizer_dir));
  return tokenizer.empty() ? std::string()
                           : Sha256Hex(fmt::format("{}\n{}\n{}", kRowsCacheVersion, tokenizer, response_template));
}

Result<DataContent> HashData(const DataSpec& spec) {
  DataContent content;
  if (NamesFile(spec.data)) {
    ASSAY_ASSIGN_OR_RETURN(content.data_hash, HashFile(spec.data, CacheOf(spec)));
  } else {
    ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<RowSource> rows, OpenDataset(spec.data, ShareOf(spec)));
    content.data_hash = rows->content_hash();
  }
  ASSAY_ASSIGN_OR_RETURN(content.tokenizer_hash, HashTokenizer(spec.tokenizer_dir));
  return content;
}

int64_t TokenizedLength(int64_t max_length) {
  return static_cast<int64_t>(std::max(kShortestCut, std::bit_ceil(static_cast<uint64_t>(max_length))));
}

Result<PreparedTokens> PrepareTokens(const DataSpec& spec) {
  const double start = MonotonicSeconds();
  ASSAY_RETURN_IF_ERROR(CheckSpec(spec));
  ASSAY_ASSIGN_OR_RETURN(const std::unique_ptr<RowSource> rows, OpenRows(spec, ShareOf(spec)));

  PreparedTokens prepared{.rows = rows->size(), .data_hash = rows->content_hash()};
  ASSAY_ASSIGN_OR_RETURN(prepared.tokenizer_hash, HashTokenizer(spec.tokenizer_dir));
  ASSAY_ASSIGN_OR_RETURN(const Row first, rows->Read(0));
  prepared.tokenizer = first.kind == RowKind::kTokens ? std::string() : spec.tokenizer_dir;
  const int64_t cut = TokenizedLength(spec.max_length);
  const std::string key = Sha256Hex(fmt::format("{}\n{}\n{}\n{}\n{}", kRowsCacheVersion, prepared.data_hash,
                                                prepared.tokenizer_hash, cut, spec.response_template));
  const std::string folder = CacheOf(spec) + "/tokens";
  prepared.tokens_file = fmt::format("{}/{}.tokens", folder, key);

  prepared.cached = IsUsable(prepared.tokens_file, prepared.rows);
  if (!prepared.cached) {
    ASSAY_RETURN_IF_ERROR(MakeDirectories(folder));
    const TokenizeOptions options{.tokenizer_dir = spec.tokenizer_dir,
                                  .no_tokenizer = spec.no_tokenizer,
                                  .response_template = spec.response_template,
                                  .max_tokens = cut,
                                  .threads = spec.threads > 0 ? static_cast<int>(spec.threads) : UsableThreads()};
    ASSAY_RETURN_IF_ERROR(TokenizeRows(*rows, options, prepared.tokens_file));
  }
  ASSAY_ASSIGN_OR_RETURN(const TokenFile file, TokenFile::Open(prepared.tokens_file));
  ASSAY_RETURN_IF_ERROR(CheckModelVocabulary(file, spec));
  ASSAY_ASSIGN_OR_RETURN(prepared.unsupervised_rows, CountUnsupervisedRows(file, spec.max_length, spec.data));
  prepared.tokens = file.tokens();
  prepared.vocab_size = file.vocab_size();
  prepared.seconds = MonotonicSeconds() - start;
  return prepared;
}

Status CopyTokenizer(const std::string& from, const std::string& to) {
  for (const std::string_view name : kTokenizerFiles) {
    const std::string source = fmt::format("{}/{}", from, name);
    const std::string target = fmt::format("{}/{}", to, name);
    std::error_code error;
    if (!FileExists(source) || std::filesystem::equivalent(source, target, error)) {
      continue;
    }
    ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(source));
    ASSAY_RETURN_IF_ERROR(WriteFileAtomically(target, text));
  }
  return Status::Ok();
}

}  // namespace assay::data
