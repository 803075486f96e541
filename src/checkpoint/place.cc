#include "checkpoint/place.h"

namespace assay::checkpoint {
namespace {

/// The key up to its last '/'.
std::string FolderOf(const std::string& key) {
  const size_t slash = key.rfind('/');
  return slash == std::string::npos ? "" : key.substr(0, slash + 1);
}

}  // namespace

std::string Place::KeyOf(std::string_view name) const {
  return (is_folder ? key : FolderOf(key)) + std::string(name);
}

std::string Place::NameOf(std::string_view of_key) const {
  return std::string(of_key.substr((is_folder ? key : FolderOf(key)).size()));
}

std::string Place::LastName() const {
  std::string name = key;
  if (name.ends_with('/')) {
    name.pop_back();
  }
  return name.substr(FolderOf(name).size());
}

Result<std::shared_ptr<const DataSource>> FileSet::Open(const std::string& name) {
  std::shared_ptr<const DataSource>& source = opened_[name];
  if (source == nullptr) {
    ASSAY_ASSIGN_OR_RETURN(source, OpenNew(name));
  }
  return source;
}

Result<std::shared_ptr<const DataSource>> FileSet::OpenNew(const std::string& name) {
  return OpenObject(place_.store, place_.KeyOf(name), place_.cancel);
}

}  // namespace assay::checkpoint
