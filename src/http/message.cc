#include "http/message.h"

#include <strings.h>

#include <algorithm>
#include <string>

namespace assay::http {
namespace {

bool SameName(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace

void Headers::Add(std::string_view name, std::string_view value) {
  fields_.push_back({std::string(name), std::string(value)});
}

void Headers::Set(std::string_view name, std::string_view value) {
  Remove(name);
  Add(name, value);
}

void Headers::Remove(std::string_view name) {
  std::erase_if(fields_, [name](const Header& field) { return SameName(field.name, name); });
}

std::optional<std::string_view> Headers::Find(std::string_view name) const {
  for (const Header& field : fields_) {
    if (SameName(field.name, name)) {
      return field.value;
    }
  }
  return std::nullopt;
}

int64_t Request::body_bytes() const {
  int64_t bytes = 0;
  for (const auto& piece : body) {
    bytes += static_cast<int64_t>(piece.size());
  }
  return bytes;
}

}  // namespace assay::http
