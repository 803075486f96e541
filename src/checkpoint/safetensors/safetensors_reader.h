// Reads safetensors files: tensors where they lie, and what the metadata says of the object they were saved from.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/status.h"
#include "checkpoint/safetensors/safetensors_header.h"
#include "checkpoint/tensor/data_source.h"
#include "checkpoint/value/value.h"

namespace assay::checkpoint {

/// Key of the metadata under which our writer keeps the tree around the tensors, where it is no flat dict.
inline constexpr char kStructureKey[] = "assay.state";
/// Key of the metadata that names the save.
inline constexpr char kSaveIdKey[] = "assay.save_id";

struct SafetensorsFile {
  SafetensorsHeader header{};
  std::map<std::string, Value> tensors{};
};

Result<SafetensorsFile> ReadSafetensorsFile(std::shared_ptr<const DataSource> source);

/// The object: a dict of the tensors by name in the order of their bytes, or the tree that was kept.
Result<Value> StateOfSafetensors(const SafetensorsFile& file, const std::string& uri);

}  // namespace assay::checkpoint
