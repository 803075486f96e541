// Data sets that are made, not stored: the reference's text data sets by id, generated from the project's corpus.
//
// The reference's own files are private; what is kept of them is what decides the speed of a run: the row format, the
// lengths and the number of entries. Every row is a function of the id and the corpus alone, on every machine, so a
// data set of gigabytes never has to stand on a disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "data/rows.h"

namespace assay::data {

/// What a table of the data sets says of one.
struct DatasetInfo {
  std::string_view id;
  std::string_view description;
  int64_t entries = 0;  ///< 0: as many as the corpus gives
  bool supported = true;
};

std::vector<DatasetInfo> KnownDatasets();

bool IsKnownDataset(std::string_view id);

/// The rows of data set `id`, made from the corpus in `share_dir`. An unknown id is refused with the nearest known one,
/// one that is not supported yet by name.
Result<std::unique_ptr<RowSource>> OpenDataset(std::string_view id, const std::string& share_dir);

}  // namespace assay::data
