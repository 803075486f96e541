// The project's own text: the novels of share/corpus, from which the synthetic data sets are made.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::data {

/// The files of share/corpus in a fixed order. Plain data; immutable once loaded.
struct Corpus {
  struct Book {
    std::string name;  ///< the file's name without folder and extension
    std::string text;  ///< UTF-8, LF
  };
  std::vector<Book> books;
  std::string hash;  ///< SHA-256 over all texts in order
};

/// Loads the corpus from `share_dir`; an error names the file that is missing.
Result<Corpus> LoadCorpus(const std::string& share_dir);

/// All words of the corpus, one space apart, as a ring: positions are taken modulo its length. Immutable; safe from
/// several threads.
class WordRing {
 public:
  explicit WordRing(const Corpus& corpus);

  int64_t words() const { return static_cast<int64_t>(begins_.size()); }
  int64_t characters() const { return static_cast<int64_t>(text_.size() - continuations_.size()); }

  /// `count` words from word `first` on, one space apart.
  std::string Words(int64_t first, int64_t count) const;
  /// `count` characters (code points, not bytes) from character `first` on; the range must not reach past the end.
  std::string_view Characters(int64_t first, int64_t count) const;

 private:
  size_t ByteOfCharacter(int64_t index) const;

  std::string text_;
  std::vector<size_t> begins_;         ///< byte at which each word begins
  std::vector<size_t> continuations_;  ///< UTF-8 continuation bytes, of which English prose has next to none
};

}  // namespace assay::data
