#include "storage/file/file_kind.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "storage/file/file_store.h"

namespace assay::storage {
namespace {

constexpr std::string_view kFileSchemes[] = {"file"};

constexpr char kSyncFiles[] = "sync_files";

constexpr OptionFlag kSyncFlags[] = {
    {.names = "--no-sync",
     .help = "Files: do not wait until the disk has them; a power cut may lose or cut what was just written",
     .value = "false"}};
constexpr OwnOption kFileOptions[] = {{.key = kSyncFiles,
                                       .variable = "ASSAY_STORAGE_SYNC_FILES",
                                       .meaning = "files: a write is done once the disk has it (true)",
                                       .form = OwnOption::Form::kSwitch,
                                       .flags = kSyncFlags}};

Result<StoreUri> ParseFileUri(std::string_view scheme, std::string_view rest) {
  if (!rest.starts_with('/')) {
    return Status::InvalidArgument(
        fmt::format("'{}://{}' names a host: a file's URI has three slashes, file:///path", scheme, rest));
  }
  return SplitPath(rest);
}

Result<std::unique_ptr<ObjectStore>> OpenFolder(const StoreUri& uri, const StoreOptions& options) {
  FileStoreOptions file;
  file.root = uri.bucket;
  file.durable = options.OwnSwitch(kSyncFiles).value_or(true);
  return std::unique_ptr<ObjectStore>(std::make_unique<FileStore>(std::move(file)));
}

}  // namespace

void SetFileSync(bool is_synced, StoreOptions& options) {
  options.own[kSyncFiles] = is_synced ? "true" : "false";
}

StoreUri SplitPath(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) {
    return {"file", ".", std::string(path)};
  }
  return {"file", slash == 0 ? "/" : std::string(path.substr(0, slash)), std::string(path.substr(slash + 1))};
}

constinit const StoreKind kFileKind = {.name = "file",
                                       .schemes = kFileSchemes,
                                       .pattern = "file:///path",
                                       .parse = ParseFileUri,
                                       .open = OpenFolder,
                                       .is_remote = false,
                                       .options = kFileOptions};

}  // namespace assay::storage
