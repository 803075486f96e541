#include "storage/gcs/gcs_compose.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "storage/store_checks.h"

namespace assay::storage {
namespace {

constexpr size_t kSourcesPerCompose = 32;

/// Groups of 32 become objects of their own, whose names are added to `made`.
Result<std::vector<ObjectInfo>> ComposeGroups(std::span<const ObjectInfo> sources, const std::string& to,
                                              const ComposeRequest& request, std::vector<std::string>& made) {
  const WriteOptions plain;
  std::vector<ObjectInfo> composed;
  for (size_t begin = 0; begin < sources.size(); begin += kSourcesPerCompose) {
    const auto group = sources.subspan(begin, std::min(kSourcesPerCompose, sources.size() - begin));
    made.push_back(fmt::format("{}.compose-{}", to.substr(0, 900), RandomUid()));
    ASSAY_ASSIGN_OR_RETURN(ObjectInfo object, request(group, made.back(), plain));
    if (!object.checksum) {
      // What comes of these all is compared with it.
      object.checksum = CombinedChecksum(group);
    }
    composed.push_back(std::move(object));
  }
  return composed;
}

Result<ObjectInfo> ComposeAll(std::vector<ObjectInfo> sources, const std::string& to, const WriteOptions& options,
                              const ComposeRequest& request, std::vector<std::string>& made) {
  while (sources.size() > kSourcesPerCompose) {
    ASSAY_ASSIGN_OR_RETURN(sources, ComposeGroups(sources, to, request, made));
  }
  WriteOptions write = options;
  write.metadata = MetadataOf(options);
  return request(sources, to, write);
}

}  // namespace

ObjectInfo ConcatenationOf(std::span<const ObjectInfo> sources) {
  ObjectInfo content = {.checksum = CombinedChecksum(sources)};
  for (const ObjectInfo& source : sources) {
    content.size += source.size;
  }
  return content;
}

Result<ObjectInfo> ComposeInGroups(ObjectStore& store, std::span<const std::string> from, const std::string& to,
                                   const WriteOptions& options, const ComposeRequest& request) {
  ASSAY_RETURN_IF_ERROR(CheckWrite(to, options, store.Uri(to)));
  ASSAY_ASSIGN_OR_RETURN(std::vector<ObjectInfo> sources, StatExisting(store, from, "copy", options.cancel));
  ASSAY_RETURN_IF_ERROR(CheckExpectedOf(options.expected, CombinedChecksum(sources), store.Uri(to)));
  if (sources.empty()) {
    return store.Write(to, {}, options);
  }
  std::vector<std::string> made;
  Result<ObjectInfo> result = ComposeAll(std::move(sources), to, options, request, made);
  // What cannot be removed now is seen in listings, under a name that tells what it was for.
  [[maybe_unused]] const std::vector<Status> removed = store.RemoveMany(made);
  return result;
}

}  // namespace assay::storage
