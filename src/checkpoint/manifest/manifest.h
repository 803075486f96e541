// What a save of ours writes beside a checkpoint: its files with checksums of every stretch and of every tensor.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "checkpoint/file/file_digest.h"
#include "checkpoint/state.h"

namespace assay::checkpoint {

/// A tensor's bytes, or a part's, in a file.
struct ManifestItem {
  std::string name{};
  int64_t offset = 0;
  int64_t bytes = 0;
  uint32_t crc32c = 0;
};

struct ManifestFile {
  std::string name{};  ///< relative to the checkpoint's place
  int64_t bytes = 0;
  uint32_t crc32c = 0;
  std::vector<uint32_t> segments{};   ///< CRC32C of each kSegmentBytes
  std::vector<ManifestItem> items{};  ///< in the order of their offsets
};

struct Manifest {
  std::string id{};  ///< of the save; the file that makes the checkpoint valid holds it too
  Format format = Format::kDcp;
  std::optional<int64_t> step{};
  double time = 0;                          ///< seconds since 1970, UTC, at its end
  std::map<std::string, double> metrics{};  ///< by which retention may choose
  /// The file that makes the checkpoint valid, written last: .metadata, an index, or the only file.
  std::string pointer{};
  /// The etag of what stood in the pointer's place when the save began; empty: nothing.
  std::string replaced_etag{};
  std::vector<ManifestFile> files{};  ///< the pointer among them, sorted by name
  /// The tree around the leaves (StructureToJson()), where the format keeps none or a simpler one; else null.
  nlohmann::json structure{};

  /// By halves: the shards of thousands of ranks ask for each of their chunks.
  const ManifestFile* Find(std::string_view name) const;
  void SortFiles();
  int64_t bytes() const;
};

ManifestFile DescribeFile(std::string name, const FileLayout& layout, const FileDigest& digest);

/// A file as manifests list it: for ranks that tell each other what they wrote.
nlohmann::json ToJson(const ManifestFile& file);
/// InvalidArgument, naming `uri`, as ReadManifest().
Result<ManifestFile> ManifestFileFromJson(const nlohmann::json& json, const std::string& uri);

/// One line of JSON and one with its CRC32C.
std::string WriteManifest(const Manifest& manifest);
/// InvalidArgument, naming `uri`, for a text that is not as it was written, or does not fit itself: stretches that do
/// not cover their file, items that lie outside it, names that lead elsewhere.
Result<Manifest> ReadManifest(std::string_view text, const std::string& uri);

/// "manifest-ID.assay" in a folder, "NAME.manifest-ID.assay" beside the object NAME. `file` is empty for a folder.
std::string ManifestName(std::string_view file, std::string_view id);
/// The id in such a name; nothing for another one.
std::optional<std::string> ManifestIdOf(std::string_view name, std::string_view file);

}  // namespace assay::checkpoint
