#include "shards/format/index_json.h"

#include <fmt/format.h>

namespace assay::shards {

Status IndexField::Error(std::string_view what) const {
  return Status::InvalidArgument(fmt::format("{}: {}", where_, what));
}

Result<IndexField> IndexField::At(std::string_view name) const {
  Element found;
  if (element_[name].get(found) != simdjson::SUCCESS) {
    return Error(fmt::format("'{}' is missing", name));
  }
  return IndexField(fmt::format("{}: {}", where_, name), found);
}

bool IndexField::Has(std::string_view name) const {
  Element found;
  return element_[name].get(found) == simdjson::SUCCESS && !found.is_null();
}

Result<std::string> IndexField::Text(std::string_view name) const {
  ASSAY_ASSIGN_OR_RETURN(const IndexField field, At(name));
  std::string_view text;
  if (field.element_.get_string().get(text) != simdjson::SUCCESS) {
    return field.Error("it is no text");
  }
  return std::string(text);
}

Result<std::string> IndexField::TextOrNull(std::string_view name) const {
  return Has(name) ? Text(name) : std::string();
}

Result<int64_t> IndexField::Count(std::string_view name) const {
  ASSAY_ASSIGN_OR_RETURN(const IndexField field, At(name));
  int64_t count = -1;
  if (field.element_.get_int64().get(count) != simdjson::SUCCESS || count < 0) {
    return field.Error("it is no number of 0 and more");
  }
  return count;
}

Result<int64_t> IndexField::Samples(std::string_view name) const {
  ASSAY_ASSIGN_OR_RETURN(const int64_t samples, Count(name));
  return samples <= UINT32_MAX ? Result<int64_t>(samples)
                               : Error(fmt::format("it is to have {} samples: more than a shard can", samples));
}

Result<simdjson::dom::array> IndexField::List(std::string_view name) const {
  ASSAY_ASSIGN_OR_RETURN(const IndexField field, At(name));
  simdjson::dom::array list;
  if (field.element_.get_array().get(list) != simdjson::SUCCESS) {
    return field.Error("it is no list");
  }
  return list;
}

Result<simdjson::dom::object> IndexField::Object(std::string_view name) const {
  ASSAY_ASSIGN_OR_RETURN(const IndexField field, At(name));
  simdjson::dom::object object;
  if (field.element_.get_object().get(object) != simdjson::SUCCESS) {
    return field.Error("it is no object");
  }
  return object;
}

Result<std::vector<std::string>> IndexField::Texts(std::string_view name) const {
  ASSAY_ASSIGN_OR_RETURN(const simdjson::dom::array list, List(name));
  std::vector<std::string> texts;
  for (const Element item : list) {
    std::string_view text;
    if (item.get_string().get(text) != simdjson::SUCCESS) {
      return Error(fmt::format("'{}' holds what is no text", name));
    }
    texts.emplace_back(text);
  }
  return texts;
}

}  // namespace assay::shards
