// What a repository of a hub holds, and what of it a model is made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "storage/integrity/checksum.h"

namespace assay::hub {

/// A file of a repository at a commit.
struct HubFile {
  std::string path;  ///< relative, with '/'
  int64_t bytes = 0;
  std::string blob;  ///< its name in the cache: `checksum` of its content in hexadecimal
  /// kSha256 of the content where the hub keeps it as a large file; kSha1 as git has it of a blob, a header included.
  storage::ChecksumKind checksum = storage::ChecksumKind::kSha256;
};

struct HubListing {
  std::string commit;  ///< that the revision stands for
  std::vector<HubFile> files;
};

/// The answer to GET /api/models/ID/revision/REVISION?blobs=true. kIo with `source` where it is none, or names a file
/// outside its own folder.
Result<HubListing> ParseListing(std::string_view text, std::string_view source);

/// The files that match one of `patterns` (fnmatch, '*' with '/'). Without patterns what a model folder needs: of the
/// outermost folder its configuration, its tokeniser and its weights, as safetensors where there are such.
std::vector<HubFile> ChooseFiles(const HubListing& listing, const std::vector<std::string>& patterns);

}  // namespace assay::hub
