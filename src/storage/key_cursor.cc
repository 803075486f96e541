#include "storage/key_cursor.h"

#include <algorithm>
#include <utility>

namespace assay::storage {
namespace {

// A token is the kind of the last name given ('k' key, 'p' rolled-up prefix) and the name.
constexpr char kKeyToken = 'k';
constexpr char kPrefixToken = 'p';

// Nothing when no key can follow.
Result<std::optional<std::string>> StartOf(const ListOptions& options) {
  std::string start = options.prefix;
  if (!options.start_after.empty()) {
    start = std::max(start, options.start_after + '\0');
  }
  if (options.page_token.empty()) {
    return std::optional(std::move(start));
  }
  const char kind = options.page_token.front();
  const std::string name = options.page_token.substr(1);
  if (kind == kKeyToken) {
    return std::optional(std::max(start, name + '\0'));
  }
  if (kind != kPrefixToken || name.empty()) {
    return Status::InvalidArgument("cannot list: the page token is not one that this store gave (list from the start)");
  }
  std::string behind = EndOfPrefix(name);
  return behind.empty() ? std::nullopt : std::optional(std::max(start, std::move(behind)));
}

// The part of `key` up to its first delimiter behind the prefix; empty when it is not rolled up.
std::string RolledUp(const std::string& key, const ListOptions& options) {
  if (options.delimiter.empty()) {
    return "";
  }
  const size_t at = key.find(options.delimiter, options.prefix.size());
  return at == std::string::npos ? "" : key.substr(0, at + options.delimiter.size());
}

bool IsBehindTheEnd(const std::string& key, const ListOptions& options) {
  return !key.starts_with(options.prefix) || (!options.end_before.empty() && key >= options.end_before);
}

}  // namespace

std::string EndOfPrefix(std::string prefix) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xFF) {
    prefix.pop_back();
  }
  if (!prefix.empty()) {
    prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
  }
  return prefix;
}

Result<ListPage> ListThrough(KeyCursor& cursor, const ListOptions& options) {
  if (options.max_keys <= 0) {
    return Status::InvalidArgument("cannot list pages of " + std::to_string(options.max_keys) +
                                   " keys (ask for 1 or more)");
  }
  ASSAY_ASSIGN_OR_RETURN(const std::optional<std::string> start, StartOf(options));
  ListPage page;
  if (!start.has_value()) {
    return page;
  }
  ASSAY_ASSIGN_OR_RETURN(std::optional<std::string> key, cursor.Seek(*start));
  std::string last;
  for (int given = 0; key.has_value() && !IsBehindTheEnd(*key, options);) {
    if (given == options.max_keys) {
      page.next_page_token = std::move(last);
      return page;
    }
    if (std::string rolled = RolledUp(*key, options); !rolled.empty()) {
      last = kPrefixToken + rolled;
      const std::string behind = EndOfPrefix(rolled);
      page.prefixes.push_back(std::move(rolled));
      ++given;
      if (behind.empty()) {
        break;
      }
      ASSAY_ASSIGN_OR_RETURN(key, cursor.Seek(behind));
      continue;
    }
    std::optional<ObjectInfo> info;
    if (options.keys_only) {
      info = ObjectInfo{.key = *key};
    } else {
      ASSAY_ASSIGN_OR_RETURN(info, cursor.Describe());
    }
    if (info.has_value()) {
      last = kKeyToken + *key;
      page.objects.push_back(*std::move(info));
      ++given;
    }
    ASSAY_ASSIGN_OR_RETURN(key, cursor.Next());
  }
  return page;
}

}  // namespace assay::storage
