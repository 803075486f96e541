#include "storage/web/web_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "http/message.h"
#include "storage/web/web_store.h"
#include "storage/web/web_urls.h"

namespace assay::storage {
namespace {

constexpr std::string_view kWebSchemes[] = {"http", "https"};
constexpr OptionFlag kMirrorFlags[] = {
    {.names = "--mirrors", .help = "URLs of folders that hold the same as an http(s):// one, with commas between"}};
constexpr OwnOption kWebOptions[] = {
    {.key = "mirrors",
     .variable = "ASSAY_STORAGE_MIRRORS",
     .meaning = "http(s): URLs of folders that hold the same, asked in turn where one fails; with commas between",
     .flags = kMirrorFlags}};
/// Of one server, where the options do not say: it is mostly somebody else's.
constexpr int kWebConnections = 8;

Result<StoreUri> ParseWebUri(std::string_view scheme, std::string_view rest) {
  const std::string_view path = rest.substr(0, rest.find('?'));
  const size_t slash = path.rfind('/');
  StoreUri uri{std::string(scheme), std::string(path.substr(0, slash)),
               slash == std::string_view::npos ? std::string() : std::string(rest.substr(slash + 1))};
  ASSAY_RETURN_IF_ERROR(WebFolderUrl(uri.scheme + "://" + uri.bucket).status());
  if (slash == std::string_view::npos && path.size() < rest.size()) {
    return Status::InvalidArgument(
        fmt::format("'{}://{}' names no file of its host (write {}://host/name)", scheme, path, scheme));
  }
  return uri;
}

Result<std::unique_ptr<ObjectStore>> OpenWeb(const StoreUri& uri, const StoreOptions& options) {
  std::vector<std::string> folders = {uri.scheme + "://" + uri.bucket};
  for (const std::string& mirror : Split(options.Own("mirrors"), ',')) {
    if (const std::string_view url = Trim(mirror); !url.empty()) {
      folders.emplace_back(url);
    }
  }
  for (std::string& folder : folders) {
    ASSAY_ASSIGN_OR_RETURN(folder, WebFolderUrl(folder));
  }
  StoreOptions settings = options;
  settings.connections = options.connections > 0 ? options.connections : kWebConnections;
  return std::unique_ptr<ObjectStore>(std::make_unique<WebStore>(std::move(folders), std::move(settings)));
}

}  // namespace

constinit const StoreKind kWebKind = {.name = "web",
                                      .schemes = kWebSchemes,
                                      .pattern = "https://host/name",
                                      .parse = ParseWebUri,
                                      .open = OpenWeb,
                                      .options = kWebOptions,
                                      .file_name = WebFileName};

}  // namespace assay::storage
