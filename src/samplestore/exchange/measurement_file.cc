#include "samplestore/exchange/measurement_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <initializer_list>

#include "base/text.h"
#include "samplestore/exchange/ado/sample_store_file.h"
#include "samplestore/exchange/csv_file.h"
#include "samplestore/exchange/json_lines.h"
#include "samplestore/exchange/parquet_file.h"
#include "samplestore/exchange/published/published_file.h"

namespace assay::samplestore {
namespace {

constexpr FileFormat kFormats[] = {
    {"jsonl", ".jsonl", &CreateJsonLines, &ReadJsonLines},
    {"csv", ".csv", &CreateCsvFile, &ReadCsvFile},
    {"parquet", ".parquet", &CreateParquetFile, &ReadParquetFile},
    {"samplestore", ".yaml", &CreateSampleStoreFile, &ReadSampleStoreFile, ".yml"},
    {"published", "", &CreatePublishedFile, &ReadPublishedFile},
};

bool IsChosenBy(const FileFormat& format, std::string_view lower_path) {
  return std::ranges::any_of(std::initializer_list{format.ending, format.other_ending},
                             [&](std::string_view ending) { return !ending.empty() && lower_path.ends_with(ending); });
}

}  // namespace

std::vector<std::string> FileFormatNames() {
  std::vector<std::string> names;
  for (const FileFormat& format : kFormats) {
    names.emplace_back(format.name);
  }
  return names;
}

Result<const FileFormat*> FindFileFormat(std::string_view name, std::string_view path) {
  const std::string lower = Lower(path);
  const auto* found = std::ranges::find_if(kFormats, [&](const FileFormat& format) {
    return name.empty() ? IsChosenBy(format, lower) : format.name == name;
  });
  if (found != std::end(kFormats)) {
    return found;
  }
  if (name.empty()) {
    return &kFormats[0];
  }
  return Status::InvalidArgument(
      fmt::format("unknown format '{}': expected {}", name, fmt::join(FileFormatNames(), ", ")));
}

}  // namespace assay::samplestore
