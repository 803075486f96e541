#include "cli/space_store.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/files.h"
#include "samplestore/sample_store.h"

namespace assay::cli {
namespace {

constexpr std::string_view kOwnStore = "default";

std::string FileNamed(const std::string& identifier) {
  return fmt::format("{}/{}.db", UserDataDirectory(), identifier);
}

/// As the space at `space_path` names it, whose other paths begin at its folder too. Empty: it is a name of no store.
std::string UrlNamed(const std::string& identifier, const std::string& space_path) {
  if (identifier == kOwnStore) {
    return samplestore::DefaultStoreUrl();
  }
  if (identifier.find('/') != std::string::npos) {
    const bool is_url = identifier.find("://") != std::string::npos;
    const std::filesystem::path file = std::filesystem::path(space_path).parent_path() / identifier;
    return is_url ? identifier : "sqlite:///" + file.string();
  }
  const std::string file = FileNamed(identifier);
  return FileExists(file) ? "sqlite:///" + file : "";
}

}  // namespace

Result<std::string> StoreOfSpace(const std::string& given, const std::string& space_path) {
  if (!given.empty() || space_path.empty()) {
    return given;
  }
  ASSAY_ASSIGN_OR_RETURN(const space::DiscoverySpace space, space::ReadDiscoverySpace(space_path));
  const std::string& identifier = space.sample_store;
  if (identifier.ends_with(".yaml") || identifier.ends_with(".yml")) {
    return Status::InvalidArgument(fmt::format(
        "{}: sampleStoreIdentifier '{}' is a file that describes a store: assay store import copies what it "
        "says into --store URL, which the space can name then",
        space_path, identifier));
  }
  return identifier.empty() ? "" : UrlNamed(identifier, space_path);
}

std::string NoteOnStore(const space::DiscoverySpace& space, const std::string& url) {
  const std::string& identifier = space.sample_store;
  const std::string named = UrlNamed(identifier, space.source);
  const std::string kept_in = samplestore::StoreName(url);
  if (identifier.empty() || (!named.empty() && samplestore::StoreName(named) == kept_in)) {
    return "";
  }
  const bool is_url = identifier.find("://") != std::string::npos;
  return fmt::format("{}: sampleStoreIdentifier '{}' does not count here: measurements are kept in {} (--store){}",
                     space.source, is_url ? samplestore::StoreName(identifier) : identifier, kept_in,
                     named.empty() ? fmt::format("; there is no store {}", FileNamed(identifier)) : "");
}

}  // namespace assay::cli
