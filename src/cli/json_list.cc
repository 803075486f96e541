#include "cli/json_list.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace assay::cli {

void JsonList::Add(const nlohmann::json& element) {
  fmt::print("{}\n  {}", begun_ ? "," : "[", DumpJson(element));
  begun_ = true;
}

void JsonList::Finish() {
  fmt::print("{}", begun_ ? "\n]" : "[]");
}

}  // namespace assay::cli
