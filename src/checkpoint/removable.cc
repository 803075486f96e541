#include "checkpoint/removable.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "checkpoint/dcp/dcp_metadata.h"

namespace assay::checkpoint {
namespace {

constexpr std::string_view kIndex = ".index.json";

/// The ending of files of data that go with the pointer.
std::string_view EndingOfData(const Found& found) {
  if (found.format == Format::kDcp) {
    return ".distcp";
  }
  const std::string_view stem = std::string_view(found.pointer).substr(0, found.pointer.size() - kIndex.size());
  return stem.substr(stem.rfind('.'));
}

bool IsItsKind(const Found& found, std::string_view name) {
  const bool lies_beside = name.find('/') == std::string_view::npos;
  const bool is_dcp = found.format == Format::kDcp;
  const bool is_metadata_of_rank = is_dcp && lies_beside && name.starts_with("__") && name.ends_with(kDcpMetadataName);
  return is_metadata_of_rank || (name.ends_with(EndingOfData(found)) && (is_dcp || lies_beside));
}

/// Folders below the place, one within the other, that `name` lies in.
void AddFolders(std::string_view name, std::set<std::string>& folders) {
  for (size_t slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1)) {
    folders.emplace(name.substr(0, slash + 1));
  }
}

Status NotItsOwn(const Found& found, std::string_view name) {
  return Status::FailedPrecondition(
      fmt::format("{} names {}, which need not be its own: nothing was removed (take that out of it, or remove the "
                  "files by hand)",
                  found.place.store->Uri(found.place.KeyOf(found.pointer)), name));
}

}  // namespace

Result<std::vector<std::string>> RemovableNamesOf(const Found& found) {
  ASSAY_ASSIGN_OR_RETURN(std::vector<std::string> names, NamesOf(found));
  const bool names_others = found.format == Format::kDcp || found.pointer.ends_with(kIndex);
  if (found.manifest != nullptr || !names_others) {
    return names;
  }
  std::set<std::string> folders;
  for (const std::string& name : names) {
    if (name != found.pointer && !IsItsKind(found, name)) {
      return NotItsOwn(found, name);
    }
    AddFolders(name, folders);
  }
  for (const std::string& folder : folders) {
    const std::string pointer = folder + kDcpMetadataName;
    ASSAY_ASSIGN_OR_RETURN(const auto other, found.place.store->Stat(found.place.KeyOf(pointer)));
    if (other) {
      return NotItsOwn(found, "files of " + folder);
    }
  }
  return names;
}

}  // namespace assay::checkpoint
