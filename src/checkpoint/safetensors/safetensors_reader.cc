#include "checkpoint/safetensors/safetensors_reader.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/json.h"
#include "checkpoint/value/value_json.h"

namespace assay::checkpoint {

Result<SafetensorsFile> ReadSafetensorsFile(std::shared_ptr<const DataSource> source) {
  SafetensorsFile file;
  const std::string uri = source->uri();
  ASSAY_ASSIGN_OR_RETURN(const std::string first,
                         ReadText(*source, 0, std::min<int64_t>(source->bytes(), kSafetensorsLengthBytes)));
  ASSAY_ASSIGN_OR_RETURN(const int64_t data_begin, SafetensorsDataBegin(first, source->bytes(), uri));
  ASSAY_ASSIGN_OR_RETURN(const std::string head, ReadText(*source, 0, data_begin));
  ASSAY_ASSIGN_OR_RETURN(file.header, ParseSafetensorsHeader(head, source->bytes(), uri));
  for (const SafetensorsEntry& entry : file.header.entries) {
    file.tensors.emplace(
        entry.name, std::make_shared<const Tensor>(ContiguousTensor(entry.dtype, entry.shape, source, entry.begin)));
  }
  return file;
}

Result<Value> StateOfSafetensors(const SafetensorsFile& file, const std::string& uri) {
  const auto structure = file.header.metadata.find(kStructureKey);
  if (structure != file.header.metadata.end()) {
    ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ParseJson(structure->second, uri));
    return ValueFromJson(json, file.tensors, uri);
  }
  std::vector<std::pair<Value, Value>> items;
  for (const SafetensorsEntry& entry : file.header.entries) {
    items.emplace_back(Value::Text(entry.name), file.tensors.at(entry.name));
  }
  return Value::MakeDict(std::move(items));
}

}  // namespace assay::checkpoint
