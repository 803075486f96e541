#include "serve/model_versions.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace assay::serve {
namespace {

constexpr size_t kMostVersions = 32;
constexpr std::string_view kMadeAt = "generated_at";

}  // namespace

void ModelVersions::Set(const nlohmann::json& model) {
  std::map<std::string, std::string> parts;
  Version version{.name = RandomUid().substr(0, 16), .hashes = {}};
  for (const auto& [name, value] : model.items()) {
    std::string text = DumpJson(value);
    if (name != kMadeAt) {
      version.hashes[name] = std::hash<std::string>()(text);
    }
    parts[name] = std::move(text);
  }
  if (!versions_.empty() && versions_.back().hashes == version.hashes) {
    return;
  }
  parts_ = std::move(parts);
  answers_.clear();
  versions_.push_back(std::move(version));
  if (versions_.size() > kMostVersions) {
    versions_.pop_front();
  }
}

std::string ModelVersions::version() const {
  return versions_.empty() ? "" : versions_.back().name;
}

const ModelVersions::Version* ModelVersions::Find(std::string_view name) const {
  const auto found = std::ranges::find(versions_, name, &Version::name);
  return found == versions_.end() ? nullptr : &*found;
}

bool ModelVersions::HasChanged(const std::string& part, const Version& since) const {
  const auto& hashes = versions_.back().hashes;
  const auto before = since.hashes.find(part);
  const auto now = hashes.find(part);
  if (now == hashes.end()) {
    return since.name != versions_.back().name;  // when it was made
  }
  return before == since.hashes.end() || before->second != now->second;
}

Text ModelVersions::Since(std::string_view base) {
  const Version* known = Find(base);
  Text& answer = answers_[known == nullptr ? "" : known->name];
  if (answer) {
    return answer;
  }
  std::string parts;
  for (const auto& [name, text] : parts_) {
    if (known == nullptr || HasChanged(name, *known)) {
      parts += fmt::format("{}{}:{}", parts.empty() ? "" : ",", DumpJson(name), text);
    }
  }
  const std::string base_text = known == nullptr ? "null" : DumpJson(known->name);
  answer = std::make_shared<const std::string>(
      fmt::format(R"({{"version":{},"base":{},"parts":{{{}}}}})", DumpJson(version()), base_text, parts) + "\n");
  return answer;
}

}  // namespace assay::serve
