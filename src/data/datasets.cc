#include "data/datasets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "data/corpus.h"
#include "data/passages.h"

namespace assay::data {
namespace {

/// A change of what any data set holds must change this, so that cached tokens are not taken for the new rows.
constexpr std::string_view kGeneratorVersion = "1";

enum class Recipe {
  kCharacters,  ///< an instruction, `size` characters of input and as many of output
  kTokens,      ///< ten tokens of input and `size` of output, at 0.75 words a token: nothing is ever padded
  kPassages,    ///< passages of the corpus to be continued, as they come: some 60 to 600 tokens
  kVision,      ///< a chat with an image: not supported
};

struct Dataset {
  std::string_view id;
  Recipe recipe;
  int64_t size;
  int64_t entries;  ///< of kPassages: as many as the corpus gives
};

constexpr std::array<Dataset, 16> kDatasets = {{
    {"austen-completion", Recipe::kPassages, 0, 0},
    {"news-chars-512-entries-256", Recipe::kCharacters, 512, 256},
    {"news-chars-512-entries-1024", Recipe::kCharacters, 512, 1024},
    {"news-chars-512-entries-4096", Recipe::kCharacters, 512, 4096},
    {"news-chars-1024-entries-256", Recipe::kCharacters, 1024, 256},
    {"news-chars-1024-entries-1024", Recipe::kCharacters, 1024, 1024},
    {"news-chars-1024-entries-4096", Recipe::kCharacters, 1024, 4096},
    {"news-chars-2048-entries-256", Recipe::kCharacters, 2048, 256},
    {"news-chars-2048-entries-1024", Recipe::kCharacters, 2048, 1024},
    {"news-chars-2048-entries-4096", Recipe::kCharacters, 2048, 4096},
    {"news-tokens-16384plus-entries-256", Recipe::kTokens, 18240, 256},
    {"news-tokens-16384plus-entries-4096", Recipe::kTokens, 18240, 4096},
    {"news-tokens-128kplus-entries-320", Recipe::kTokens, 152000, 320},
    {"news-tokens-128kplus-entries-4096", Recipe::kTokens, 152000, 4096},
    {"vision-384x384-16384plus-entries-4096", Recipe::kVision, 0, 4096},
    {"vision-384x768-16384plus-entries-4096", Recipe::kVision, 0, 4096},
}};

constexpr int64_t WordsOfTokens(int64_t tokens) {
  return (tokens * 3 + 2) / 4;
}

/// What every generated data set shares: its name, its hash and its places.
class GeneratedRows : public RowSource {
 public:
  GeneratedRows(std::string id, const Corpus& corpus)
      : id_(std::move(id)), content_hash_(Sha256Hex(fmt::format("{}\n{}\n{}", kGeneratorVersion, id_, corpus.hash))) {}

  int64_t Line(int64_t index) const override { return index + 1; }
  std::string Where(int64_t index) const override { return fmt::format("{}:{}", id_, index + 1); }
  const std::string& name() const override { return id_; }
  const std::string& content_hash() const override { return content_hash_; }

  Result<Row> Read(int64_t index) const override {
    Row row{.kind = RowKind::kText, .text = Text(index)};
    row.tokens.line = Line(index);
    return row;
  }

 private:
  virtual std::string Text(int64_t index) const = 0;

  std::string id_;
  std::string content_hash_;
};

/// The format of the reference's preprocess_news_dataset; its rows, too, are repeated when they run out.
class CharacterRows final : public GeneratedRows {
 public:
  CharacterRows(const Dataset& dataset, const Corpus& corpus)
      : GeneratedRows(std::string(dataset.id), corpus),
        characters_(dataset.size),
        entries_(dataset.entries),
        ring_(corpus) {}

  int64_t size() const override { return entries_; }

 private:
  std::string Text(int64_t index) const override {
    const int64_t distinct = ring_.characters() / (2 * characters_);
    const int64_t first = index % distinct * 2 * characters_;
    return fmt::format(
        "Write a response that appropriately completes the remainder of the following input text.\n\n"
        "### Input:\n{}\n\n### Response: {}",
        ring_.Characters(first, characters_), ring_.Characters(first + characters_, characters_));
  }

  int64_t characters_;
  int64_t entries_;
  WordRing ring_;
};

/// The format of the reference's generate_dataset: words in sequence, each row going on where the last one ended.
class TokenCountRows final : public GeneratedRows {
 public:
  TokenCountRows(const Dataset& dataset, const Corpus& corpus)
      : GeneratedRows(std::string(dataset.id), corpus),
        output_words_(WordsOfTokens(dataset.size)),
        entries_(dataset.entries),
        ring_(corpus) {}

  int64_t size() const override { return entries_; }

 private:
  static constexpr int64_t kInputWords = WordsOfTokens(10);

  std::string Text(int64_t index) const override {
    const int64_t first = index * (kInputWords + output_words_);
    return fmt::format("### Input:\n {} \n\n### Response: {}", ring_.Words(first, kInputWords),
                       ring_.Words(first + kInputWords, output_words_));
  }

  int64_t output_words_;
  int64_t entries_;
  WordRing ring_;
};

class PassageRows final : public GeneratedRows {
 public:
  PassageRows(const Dataset& dataset, const Corpus& corpus)
      : GeneratedRows(std::string(dataset.id), corpus), passages_(CutIntoPassages(corpus)) {}

  int64_t size() const override { return static_cast<int64_t>(passages_.size()); }

 private:
  std::string Text(int64_t index) const override {
    const Passage& passage = passages_[index];
    return fmt::format("### Input:\n{}\n\n### Response: {}", passage.beginning, passage.continuation);
  }

  std::vector<Passage> passages_;
};

const Dataset* Find(std::string_view id) {
  const auto it = std::ranges::find(kDatasets, id, [](const Dataset& dataset) { return dataset.id; });
  return it == kDatasets.end() ? nullptr : &*it;
}

std::string_view Describe(Recipe recipe) {
  switch (recipe) {
    case Recipe::kCharacters:
      return "an instruction, and as many characters of input as of output";
    case Recipe::kTokens:
      return "rows that fill the longest context: nothing is padded";
    case Recipe::kPassages:
      return "passages of novels to be continued, of some 60 to 600 tokens";
    case Recipe::kVision:
      return "chats with an image";
  }
  return "";
}

Status UnknownDataset(std::string_view id) {
  std::vector<std::string> known;
  for (const Dataset& dataset : kDatasets) {
    known.emplace_back(dataset.id);
  }
  const std::string nearest = NearestName(id, known);
  return Status::NotFound(fmt::format("there is no data set '{}'{}; it is neither a file nor a known id", id,
                                      nearest.empty() ? "" : fmt::format(" (did you mean '{}'?)", nearest)));
}

}  // namespace

std::vector<DatasetInfo> KnownDatasets() {
  std::vector<DatasetInfo> datasets;
  for (const Dataset& dataset : kDatasets) {
    datasets.push_back({dataset.id, Describe(dataset.recipe), dataset.entries, dataset.recipe != Recipe::kVision});
  }
  return datasets;
}

bool IsKnownDataset(std::string_view id) {
  return Find(id) != nullptr;
}

Result<std::unique_ptr<RowSource>> OpenDataset(std::string_view id, const std::string& share_dir) {
  const Dataset* dataset = Find(id);
  if (dataset == nullptr) {
    return UnknownDataset(id);
  }
  if (dataset->recipe == Recipe::kVision) {
    return Status::Unsupported(
        fmt::format("data set '{}' is known but not supported yet: rows with images cannot be read", id));
  }
  ASSAY_ASSIGN_OR_RETURN(const Corpus corpus, LoadCorpus(share_dir));
  switch (dataset->recipe) {
    case Recipe::kCharacters:
      return std::unique_ptr<RowSource>(std::make_unique<CharacterRows>(*dataset, corpus));
    case Recipe::kTokens:
      return std::unique_ptr<RowSource>(std::make_unique<TokenCountRows>(*dataset, corpus));
    case Recipe::kPassages:
      return std::unique_ptr<RowSource>(std::make_unique<PassageRows>(*dataset, corpus));
    case Recipe::kVision:
      break;
  }
  return Status::Internal(fmt::format("data set '{}' has no generator", id));
}

}  // namespace assay::data
