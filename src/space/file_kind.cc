#include "space/file_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace assay::space {
namespace {

struct KindOfFile {
  FileKind kind;
  const char* name;
  const char* key;       ///< that only this kind has at its top, or
  const char* second;    ///< with this one beside it, where it is not nullptr
  const char* taken_by;  ///< the command that it belongs to
};

constexpr KindOfFile kKinds[] = {
    {FileKind::kSpace, "a discovery space", "entitySpace", nullptr, "assay explore SPACE.yaml"},
    {FileKind::kOperation, "an operation", "operation", nullptr, "assay explore SPACE.yaml --operation FILE"},
    {FileKind::kSampleStore, "a sample store", "specification", nullptr, "assay store import FILE copies what it says"},
    {FileKind::kSampleStore, "a sample store", "copyFrom", nullptr, "assay store import FILE copies what it says"},
    {FileKind::kContext, "a context", "metadataStore", nullptr, "--store URL says where measurements are kept"},
    {FileKind::kPoint, "a point", "entity", "experiments", "assay run EXPERIMENT -p NAME=VALUE"},
    {FileKind::kActuatorConfiguration, "an actuator configuration", "actuatorIdentifier", "parameters",
     "assay explore SPACE.yaml --actuator-configuration FILE"},
};

}  // namespace

Status CheckKind(const YamlNode& root, FileKind wanted) {
  if (!root.IsMap()) {
    return Status::Ok();
  }
  const auto is_of = [&](const KindOfFile& each) {
    return root.Has(each.key) && (each.second == nullptr || root.Has(each.second));
  };
  const auto* found = std::ranges::find_if(kKinds, is_of);
  if (found == std::end(kKinds) || found->kind == wanted) {
    return Status::Ok();
  }
  const auto* asked = std::ranges::find(kKinds, wanted, &KindOfFile::kind);
  return root.Error(fmt::format("this is {}, not {}: {}", found->name, asked->name, found->taken_by));
}

}  // namespace assay::space
