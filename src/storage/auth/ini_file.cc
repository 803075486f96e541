#include "storage/auth/ini_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/files.h"
#include "base/text.h"

namespace assay::storage {
namespace {

// Reads line by line; `key_` is the last key that stood at the margin.
class IniReader {
 public:
  Status ReadLine(std::string_view line) {
    const std::string_view text = Trim(line);
    if (text.empty() || text[0] == '#' || text[0] == ';') {
      return Status::Ok();
    }
    if (line[0] == ' ' || line[0] == '\t') {
      return ReadIndented(text);
    }
    if (text[0] == '[') {
      return ReadSection(text);
    }
    return ReadKey(text, "", key_);
  }

  IniFile Take() { return std::move(file_); }

 private:
  Status ReadSection(std::string_view text) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) {
      return Status::InvalidArgument("a section without ']'");
    }
    section_ = &file_[std::string(Trim(text.substr(1, end - 1)))];
    key_.clear();
    return Status::Ok();
  }

  Status ReadIndented(std::string_view text) {
    if (section_ == nullptr || key_.empty()) {
      return Status::InvalidArgument("an indented line that continues nothing");
    }
    std::string& value = (*section_)[key_];
    if (value.empty()) {
      std::string inner;
      return ReadKey(text, key_ + ".", inner);
    }
    value += '\n';
    value += text;
    return Status::Ok();
  }

  Status ReadKey(std::string_view text, const std::string& prefix, std::string& key) {
    const size_t delimiter = text.find_first_of("=:");
    if (delimiter == std::string_view::npos || delimiter == 0) {
      return Status::InvalidArgument("neither a section nor 'key = value'");
    }
    if (section_ == nullptr) {
      return Status::InvalidArgument("a key before the first section");
    }
    key = prefix + Lower(Trim(text.substr(0, delimiter)));
    (*section_)[key] = Trim(text.substr(delimiter + 1));
    return Status::Ok();
  }

  IniFile file_;
  IniSection* section_ = nullptr;
  std::string key_;
};

}  // namespace

Result<IniFile> ParseIni(std::string_view text, std::string_view source) {
  IniReader reader;
  int number = 0;
  for (const std::string& line : Split(text, '\n')) {
    ++number;
    if (Status status = reader.ReadLine(line); !status.ok()) {
      return status.WithContext(fmt::format("cannot read {}, line {}", source, number));
    }
  }
  return reader.Take();
}

Result<IniFile> ReadIniFile(const std::string& path) {
  if (!FileExists(path)) {
    return IniFile{};
  }
  ASSAY_ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  return ParseIni(text, path);
}

}  // namespace assay::storage
