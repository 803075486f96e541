// URLs of folders and files of web servers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace assay::storage {

/// The URL of a folder, ending with '/': what may stand in a URL does, '%' included, and the rest is encoded.
/// InvalidArgument for what is no http or https URL, and for one with a user name, a query or a fragment.
Result<std::string> WebFolderUrl(std::string_view url);

/// Keys are the rest of a URL as people write it: "name.bin", "a%20b/c", "name?signature=...". Refused is what would
/// lead elsewhere or nowhere: nothing at all, "..", a fragment, more than kMaxWebKeyBytes.
Status CheckWebKey(std::string_view key, std::string_view uri);
inline constexpr size_t kMaxWebKeyBytes = 8000;
/// `folder` is of WebFolderUrl().
std::string WebFileUrl(std::string_view folder, std::string_view key);
/// The same for people: without a query, which may hold a secret.
std::string WebUri(std::string_view folder, std::string_view key);

/// What people call the file: without query, and decoded where that gives a name.
std::string WebFileName(std::string_view key);

/// What "Location: `reference`" of the answer to `url` leads to; nothing where that is no http or https URL, or plain
/// http behind https.
std::optional<std::string> RedirectTarget(std::string_view url, std::string_view reference);

}  // namespace assay::storage
