#include "storage/file/key_path.h"

#include <algorithm>

namespace assay::storage {
namespace {

constexpr std::string_view kEmptyPart = "%e";
constexpr std::string_view kBesideFolder = "%o";
constexpr std::string_view kContinued = "%l";
// Leaves room for a mark within the 255 bytes of a file name.
constexpr size_t kLongestName = 240;

int HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool IsHexEscape(std::string_view text) {
  return text.size() >= 3 && text[0] == '%' && HexDigit(text[1]) >= 0 && HexDigit(text[2]) >= 0;
}

// Whether the '%' that `text` begins with would be read as the beginning of an escape or a mark.
bool ReadsAsEscape(std::string_view text) {
  const std::string_view mark = text.substr(0, 2);
  return mark == kEmptyPart || mark == kBesideFolder || mark == kContinued || IsHexEscape(text);
}

std::string EscapePart(std::string_view part, bool first) {
  if (part.empty()) {
    return std::string(kEmptyPart);
  }
  if (part == "." || part == "..") {
    return part.size() == 1 ? "%2E" : "%2E%2E";
  }
  std::string escaped;
  if (first && part == kOwnFolder) {
    escaped = "%2E";
    part.remove_prefix(1);
  }
  for (size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '%' && ReadsAsEscape(part.substr(i))) {
      escaped += "%25";
    } else {
      escaped += part[i];
    }
  }
  return escaped;
}

// How much of `escaped` a folder may hold without cutting an escape in two.
size_t CutOf(std::string_view escaped) {
  for (size_t at = kLongestName - 2; at < kLongestName; ++at) {
    if (IsHexEscape(escaped.substr(at))) {
      return at;
    }
  }
  return kLongestName;
}

void AppendPart(std::string& path, std::string_view escaped) {
  while (escaped.size() > kLongestName) {
    const size_t cut = CutOf(escaped);
    path.append(escaped.substr(0, cut)).append(kContinued).append("/");
    escaped.remove_prefix(cut);
  }
  path.append(escaped);
}

std::string Unescape(std::string_view name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    if (IsHexEscape(name.substr(i))) {
      text += static_cast<char>(HexDigit(name[i + 1]) * 16 + HexDigit(name[i + 2]));
      i += 2;
    } else {
      text += name[i];
    }
  }
  return text;
}

bool StripMark(std::string_view& name, std::string_view mark) {
  // "%%o" is a name that ends in '%' and its mark; "%25o" is no mark at all.
  if (!name.ends_with(mark) || name.size() == mark.size()) {
    return false;
  }
  name.remove_suffix(mark.size());
  return true;
}

}  // namespace

std::string PathOfKey(std::string_view key) {
  std::string path;
  for (bool first = true;; first = false) {
    const size_t slash = key.find('/');
    AppendPart(path, EscapePart(key.substr(0, slash), first));
    if (slash == std::string_view::npos) {
      return path;
    }
    path += '/';
    key.remove_prefix(slash + 1);
  }
}

std::string PathBesideFolder(std::string_view path) {
  return std::string(path).append(kBesideFolder);
}

EntryName DecodeName(std::string_view name) {
  EntryName entry;
  if (StripMark(name, kBesideFolder)) {
    entry.kind = EntryName::Kind::kBesideFolder;
  } else if (StripMark(name, kContinued)) {
    entry.kind = EntryName::Kind::kContinued;
  }
  if (name != kEmptyPart) {
    entry.text = Unescape(name);
  }
  return entry;
}

}  // namespace assay::storage
