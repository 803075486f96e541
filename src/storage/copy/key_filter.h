// Which keys of a tree count: patterns in the order in which they were given.
#pragma once

#include <string>
#include <vector>

namespace assay::storage {

/// As of `aws s3`: all keys count but those that the last pattern that fits them excludes. In a pattern `*` stands for
/// any characters, '/' among them, `?` for one, `[a-z]` and `[!a-z]` for one of a set; a backslash takes a character as
/// it stands. A pattern is held against the whole key below the folder.
class KeyFilter {
 public:
  void Include(std::string pattern) { rules_.push_back({std::move(pattern), true}); }
  void Exclude(std::string pattern) { rules_.push_back({std::move(pattern), false}); }
  bool empty() const { return rules_.empty(); }
  bool Takes(const std::string& key) const;

 private:
  struct Rule {
    std::string pattern;
    bool include;
  };
  std::vector<Rule> rules_;
};

}  // namespace assay::storage
