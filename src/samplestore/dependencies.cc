#include "samplestore/dependencies.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace assay::samplestore {
namespace {

std::string EntryOf(const std::map<std::string, std::string>& provenance, const char* name) {
  const auto found = provenance.find(name);
  return found == provenance.end() ? "" : found->second;
}

/// "A, A, B" to "2 x A, 1 x B".
std::string CountNames(const std::string& list) {
  std::map<std::string, int> counts;
  for (const std::string& name : Split(list, ',')) {
    ++counts[std::string(Trim(name))];
  }
  std::vector<std::string> texts;
  for (const auto& [name, count] : counts) {
    texts.push_back(fmt::format("{} x {}", count, name));
  }
  return Join(texts, ", ");
}

}  // namespace

bool Agrees(const Facts& depends_on, const Facts& here) {
  return std::ranges::all_of(depends_on, [&](const auto& dependency) {
    const auto fact = here.find(dependency.first);
    return fact == here.end() || fact->second == dependency.second;
  });
}

bool SaysWhatJudged(const Facts& depends_on) {
  return depends_on.contains(kLibtorch) || depends_on.contains(kJudgedBy);
}

std::string MachineKind(const std::map<std::string, std::string>& provenance) {
  const std::string cores = EntryOf(provenance, "cores");
  if (cores.empty()) {
    return "";
  }
  std::string kind = fmt::format("{}, {} cores, {}", EntryOf(provenance, "cpu"), cores, EntryOf(provenance, "memory"));
  if (const std::string gpus = EntryOf(provenance, "gpu"); !gpus.empty()) {
    kind += ", " + CountNames(gpus);
  }
  return kind;
}

}  // namespace assay::samplestore
