// From a data set and a tokeniser to a token file, made once and found again.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "data/row_encoder.h"

namespace assay::data {

/// What is to be tokenised, and how.
struct DataSpec {
  std::string data;           ///< the id of a data set (datasets.h), else a JSONL file
  std::string tokenizer_dir;  ///< a folder with tokenizer.json; not needed when every row holds token ids
  std::string no_tokenizer;   ///< with no tokenizer_dir: what a row of text is refused with
  std::string response_template = std::string(kDefaultResponseTemplate);
  int64_t max_length = 512;      ///< tokens of a row that a run will read
  int64_t model_vocab_size = 0;  ///< ids must be below it; 0: any
  std::string share_dir;         ///< the project's read-only data; empty: ShareDirectory()
  std::string cache_dir;         ///< where token files are kept, under tokens/; empty: UserCacheDirectory()
  int64_t threads = 0;           ///< 0: all that the process may use
};

struct PreparedTokens {
  std::string tokens_file = {};  ///< a TokenFile; its rows may be longer than max_length, a reader cuts them
  int64_t rows = 0;
  int64_t tokens = 0;               ///< in the file
  int64_t vocab_size = 0;           ///< as TokenFile::vocab_size()
  std::string data_hash;            ///< SHA-256 of the file's bytes, or of what decides a generated data set's rows
  std::string tokenizer_hash = {};  ///< SHA-256 of the tokeniser's files; empty without one
  std::string tokenizer = {};       ///< the folder of what made the ids; empty: the rows brought them
  int64_t unsupervised_rows = 0;    ///< of which nothing within max_length bears loss, most often by truncation
  double seconds = 0;
  bool cached = false;  ///< the file was there already
};

/// What the rows of a run come from, as hashes.
struct DataContent {
  std::string data_hash;            ///< as PreparedTokens has it
  std::string tokenizer_hash = {};  ///< the same
};

/// Of the files that make a tokeniser, in `folder`; empty where there is none.
Result<std::string> HashTokenizer(const std::string& folder);

/// Of all that decides which tokens and labels a RowEncoder makes of a row, but for its length; empty without a
/// tokeniser in `tokenizer_dir`.
Result<std::string> HashRowEncoding(const std::string& tokenizer_dir, const std::string& response_template);

/// The hashes that PrepareTokens would find, without tokenising: of a file as HashFile finds it again.
Result<DataContent> HashData(const DataSpec& spec);

/// How many tokens of a row are made where a run reads `max_length` of it: which match of the response template is the
/// last is decided on so many.
int64_t TokenizedLength(int64_t max_length);

/// Tokenises a data set, in parallel over its rows, into the cache, or finds it there. The file's name is a hash of the
/// data, the tokeniser, the template and the length (rounded up to a power of two), so nothing stale is ever found, and
/// a damaged file is made again. Processes may do this at once: each writes a file of its own and renames it.
///
/// Fails with one line: a data set or tokeniser that is missing or wrong, a row that cannot be used (by file and line),
/// rows of which none has anything left to learn from at `max_length`, ids outside the model's vocabulary, a cache that
/// cannot be written.
Result<PreparedTokens> PrepareTokens(const DataSpec& spec);

/// Puts the tokeniser of folder `from` beside what is in folder `to`, where it is not there already.
Status CopyTokenizer(const std::string& from, const std::string& to);

}  // namespace assay::data
