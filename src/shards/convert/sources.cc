#include "shards/convert/sources.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::shards {
namespace {

struct FormatName {
  std::string_view name;
  RowFormat format;
};

constexpr FormatName kNames[] = {{"jsonl", RowFormat::kJsonLines}, {"csv", RowFormat::kCsv}, {"tsv", RowFormat::kTsv}};
constexpr FormatName kEndings[] = {{".jsonl", RowFormat::kJsonLines},
                                   {".ndjson", RowFormat::kJsonLines},
                                   {".json", RowFormat::kJsonLines},
                                   {".csv", RowFormat::kCsv},
                                   {".tsv", RowFormat::kTsv}};

constexpr std::string_view kWildcards = "*?[";

/// The objects below `prefix` of which `take` is true, sorted.
template <typename Take>
Result<std::vector<storage::ObjectInfo>> ListBelow(const SourcePattern& pattern, const std::string& prefix,
                                                   storage::CancelFlag cancel, const Take& take) {
  std::vector<storage::ObjectInfo> found;
  const storage::ListOptions list{.prefix = prefix};
  ASSAY_RETURN_IF_ERROR(
      storage::ListInParallel(*pattern.store, list, storage::kListWorkers, [&](storage::ListPage page) {
        for (storage::ObjectInfo& info : page.objects) {
          if (take(info.key)) {
            found.push_back(std::move(info));
          }
        }
        return storage::IsCancelled(cancel) ? storage::CancelledStatus("list", pattern.store->Uri(prefix))
                                            : Status::Ok();
      }));
  std::ranges::sort(found, {}, &storage::ObjectInfo::key);
  return found;
}

Result<std::vector<storage::ObjectInfo>> FindOne(const SourcePattern& pattern, storage::CancelFlag cancel) {
  const size_t wildcard = pattern.key.find_first_of(kWildcards);
  const auto has_format = [](const std::string& key) { return RowFormatOf(key).has_value(); };
  if (wildcard != std::string::npos) {
    return ListBelow(pattern, pattern.key.substr(0, wildcard), cancel, [&](const std::string& key) {
      return ::fnmatch(pattern.key.c_str(), key.c_str(), FNM_PATHNAME) == 0;
    });
  }
  if (pattern.key.empty() || pattern.key.ends_with('/')) {
    return ListBelow(pattern, pattern.key, cancel, has_format);
  }
  ASSAY_ASSIGN_OR_RETURN(std::optional<storage::ObjectInfo> info, pattern.store->Stat(pattern.key));
  if (info) {
    return std::vector<storage::ObjectInfo>{*std::move(info)};
  }
  ASSAY_RETURN_IF_ERROR(pattern.store->ExplainAbsence(pattern.key));
  return ListBelow(pattern, pattern.key + "/", cancel, has_format);
}

}  // namespace

std::string_view NameOf(RowFormat format) {
  return std::ranges::find(kNames, format, &FormatName::format)->name;
}

std::vector<std::string> RowFormatNames() {
  std::vector<std::string> names;
  for (const FormatName& row : kNames) {
    names.emplace_back(row.name);
  }
  return names;
}

Result<RowFormat> ParseRowFormat(std::string_view name) {
  const auto row = std::ranges::find(kNames, name, &FormatName::name);
  if (row == std::end(kNames)) {
    return Status::InvalidArgument(
        fmt::format("there is no format of rows '{}': {}", name, Join(RowFormatNames(), ", ")));
  }
  return row->format;
}

std::optional<RowFormat> RowFormatOf(std::string_view file_name) {
  const std::string lower = Lower(file_name);
  const auto row = std::ranges::find_if(kEndings, [&](const FormatName& of) { return lower.ends_with(of.name); });
  return row == std::end(kEndings) ? std::nullopt : std::optional(row->format);
}

Result<std::vector<SourceFile>> FindSources(std::span<const SourcePattern> patterns, std::optional<RowFormat> format,
                                            storage::CancelFlag cancel) {
  std::vector<SourceFile> sources;
  std::set<std::string> seen;
  for (const SourcePattern& pattern : patterns) {
    ASSAY_ASSIGN_OR_RETURN(std::vector<storage::ObjectInfo> found, FindOne(pattern, cancel));
    if (found.empty()) {
      return Status::NotFound(fmt::format("there is nothing to convert at {}", pattern.store->Uri(pattern.key)));
    }
    for (storage::ObjectInfo& info : found) {
      const std::string uri = pattern.store->Uri(info.key);
      const std::optional<RowFormat> of_file = format ? format : RowFormatOf(info.key);
      if (!of_file) {
        return Status::InvalidArgument(
            fmt::format("{}: its ending does not say what it is: give --from {}", uri, Join(RowFormatNames(), "|")));
      }
      if (!seen.insert(uri).second) {
        return Status::InvalidArgument(fmt::format("{} is named twice", uri));
      }
      sources.push_back({pattern.store, std::move(info), *of_file});
    }
  }
  return sources;
}

}  // namespace assay::shards
