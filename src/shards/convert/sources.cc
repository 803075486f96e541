#include "shards/convert/sources.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <iterator>
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

constexpr FormatName kNames[] = {{"jsonl", RowFormat::kJsonLines}, {"csv", RowFormat::kCsv},
                                 {"tsv", RowFormat::kTsv},         {"images", RowFormat::kImages},
                                 {"webdataset", RowFormat::kTar},  {"parquet", RowFormat::kParquet}};
constexpr FormatName kEndings[] = {{".jsonl", RowFormat::kJsonLines}, {".ndjson", RowFormat::kJsonLines},
                                   {".json", RowFormat::kJsonLines},  {".csv", RowFormat::kCsv},
                                   {".tsv", RowFormat::kTsv},         {".jpg", RowFormat::kImages},
                                   {".jpeg", RowFormat::kImages},     {".png", RowFormat::kImages},
                                   {".tar", RowFormat::kTar},         {".parquet", RowFormat::kParquet}};

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

Result<std::vector<storage::ObjectInfo>> FindOne(const SourcePattern& pattern, bool images,
                                                 storage::CancelFlag cancel) {
  const size_t wildcard = pattern.key.find_first_of(kWildcards);
  const auto has_format = [images](const std::string& key) {
    const std::optional<RowFormat> format = RowFormatOf(key);
    return format && (*format == RowFormat::kImages) == images;
  };
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

/// The part of a key behind the folder that a pattern names.
std::string NameBelow(const std::string& pattern, const std::string& key) {
  const std::string_view folder = std::string_view(pattern).substr(0, pattern.find_first_of(kWildcards));
  std::string_view name = key;
  name.remove_prefix(key.starts_with(folder) ? folder.size() : 0);
  name.remove_prefix(name.starts_with('/') ? 1 : 0);
  return std::string(name);
}

/// Numbers the folders that images lie in, by name.
Status LabelImages(std::vector<SourceFile>& sources) {
  std::set<std::string> classes;
  const auto class_of = [](const SourceFile& source) { return source.name.substr(0, source.name.find('/')); };
  for (const SourceFile& source : sources) {
    if (source.info.size == 0) {
      return Status::InvalidArgument(fmt::format("{} is empty", source.uri()));
    }
    if (source.name.find('/') == std::string::npos) {
      return Status::InvalidArgument(
          fmt::format("{} is in no folder of a class: name the folder that holds those of the classes", source.uri()));
    }
    classes.insert(class_of(source));
  }
  for (SourceFile& source : sources) {
    source.label = std::distance(classes.begin(), classes.find(class_of(source)));
  }
  return Status::Ok();
}

}  // namespace

std::string_view ImageEncodingOf(std::string_view file_name) {
  return Lower(file_name).ends_with(".png") ? "png" : "jpeg";
}

SourceFile SyntheticSource(const SyntheticRows& rows) {
  SourceFile source;
  source.format = RowFormat::kSynthetic;
  source.synthetic = std::make_shared<const SyntheticRows>(rows);
  source.info.size = rows.samples;
  return source;
}

std::string_view NameOf(RowFormat format) {
  if (format == RowFormat::kSynthetic) {
    return "synthetic";
  }
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
    const bool images = format == RowFormat::kImages;
    ASSAY_ASSIGN_OR_RETURN(std::vector<storage::ObjectInfo> found, FindOne(pattern, images, cancel));
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
      sources.back().name = NameBelow(pattern.key, sources.back().info.key);
    }
  }
  if (format == RowFormat::kImages) {
    ASSAY_RETURN_IF_ERROR(LabelImages(sources));
  }
  return sources;
}

}  // namespace assay::shards
