// Where the object of a key lies under the root of a file store, and back.
//
// Ordinary keys are ordinary files: "runs/7/model.bin" is runs/7/model.bin. What cannot be a file name is escaped, and
// every key has exactly one escaped form:
//   ".", ".."                 "%2E", "%2E%2E"
//   ".assay" as first part    "%2Eassay" (that folder holds the store's own files)
//   an empty part             "%e": "a//b" is a/%e/b, "a/" is a/%e
//   "%" before what would read as an escape  "%25"
//   a part of over 240 bytes  folders of up to 240 bytes, each but the last ending in "%l"
//   an object beside a folder of the same name (keys "a" and "a/b")  the file "a%o" beside the folder "a"
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace assay::storage {

/// The folder of the store's own files, below the root and outside the namespace of keys.
inline constexpr std::string_view kOwnFolder = ".assay";

/// Relative path of the object under `key` (not empty, without NUL); never leaves the root.
std::string PathOfKey(std::string_view key);
/// Where it lies when a folder has that path.
std::string PathBesideFolder(std::string_view path);

/// What one entry of a folder stands for.
struct EntryName {
  enum class Kind {
    kPlain,         ///< a file or a folder
    kBesideFolder,  ///< a file whose plain name a folder has
    kContinued,     ///< a folder whose name goes on in its entries
  };
  std::string text;  ///< the part of the key
  Kind kind = Kind::kPlain;
};

/// Undoes the escaping of one name. Whether the name is the one that PathOfKey would have made is for the caller to
/// compare, on the whole path.
EntryName DecodeName(std::string_view name);

}  // namespace assay::storage
