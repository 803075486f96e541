#include "hub/listing.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"

namespace assay::hub {
namespace {

using storage::ChecksumKind;

/// Everything that is written below a cache is named by a hub: none of it may leave its folder.
bool StaysInFolder(const std::string& path) {
  const std::vector<std::string> parts = Split(path, '/');
  return !parts.empty() && path.find('\0') == std::string::npos &&
         std::ranges::none_of(parts, [](const auto& part) { return part.empty() || part == "." || part == ".."; });
}

bool IsDigest(const std::string& text, ChecksumKind kind) {
  const auto raw = storage::HexDecode(text);
  return raw && raw->size() == storage::DigestBytes(kind);
}

Result<HubFile> ReadHubFile(const nlohmann::json& entry, std::string_view source) {
  HubFile file;
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "rfilename", file.path).WithContext(source));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "size", file.bytes).WithContext(source));
  ASSAY_RETURN_IF_ERROR(ReadField(entry, "blobId", file.blob).WithContext(source));
  file.checksum = ChecksumKind::kSha1;
  if (const auto large = entry.find("lfs"); large != entry.end() && large->is_object()) {
    file.checksum = ChecksumKind::kSha256;
    ASSAY_RETURN_IF_ERROR(ReadField(*large, "sha256", file.blob).WithContext(source));
    ASSAY_RETURN_IF_ERROR(ReadField(*large, "size", file.bytes).WithContext(source));
  }
  if (!StaysInFolder(file.path) || file.bytes < 0 || !IsDigest(file.blob, file.checksum)) {
    return Status::Io(fmt::format("{}: the hub lists a file '{}' of {} bytes with the hash '{}', which is none", source,
                                  file.path, file.bytes, file.blob));
  }
  return file;
}

bool Matches(const std::string& path, std::string_view pattern) {
  return ::fnmatch(std::string(pattern).c_str(), path.c_str(), 0) == 0;
}

template <typename Patterns>
bool MatchesAny(const std::string& path, const Patterns& patterns) {
  return std::ranges::any_of(patterns, [&](const auto& pattern) { return Matches(path, pattern); });
}

bool IsSafetensors(const HubFile& file) {
  constexpr std::array<std::string_view, 2> kWeights = {"model*.safetensors", "adapter_model*.safetensors"};
  return file.path.find('/') == std::string::npos && MatchesAny(file.path, kWeights);
}

bool IsOfModel(const HubFile& file, bool has_safetensors) {
  constexpr std::array<std::string_view, 4> kAlways = {"*.json", "*.txt", "*.model", "*.jinja"};
  if (file.path.find('/') != std::string::npos) {
    return false;
  }
  if (IsSafetensors(file)) {
    return true;
  }
  const bool is_pickled = Matches(file.path, "pytorch_model*") || Matches(file.path, "adapter_model*.bin");
  return is_pickled ? !has_safetensors : MatchesAny(file.path, kAlways);
}

}  // namespace

Result<HubListing> ParseListing(std::string_view text, std::string_view source) {
  const auto json = ParseJson(text, source);
  if (!json.ok() || !json->is_object() || !json->contains("sha") || !json->contains("siblings") ||
      !(*json)["siblings"].is_array()) {
    return Status::Io(
        fmt::format("{} does not answer as a hub does: no list of files; check the endpoint's address", source));
  }
  HubListing listing;
  ASSAY_RETURN_IF_ERROR(ReadField(*json, "sha", listing.commit).WithContext(source));
  if (!IsDigest(listing.commit, ChecksumKind::kSha1)) {
    return Status::Io(fmt::format("{}: the hub names '{}' as the commit, which is none", source, listing.commit));
  }
  for (const nlohmann::json& entry : (*json)["siblings"]) {
    if (!entry.is_object()) {
      return Status::Io(fmt::format("{}: the hub lists a file that is no object of JSON", source));
    }
    ASSAY_ASSIGN_OR_RETURN(HubFile file, ReadHubFile(entry, source));
    listing.files.push_back(std::move(file));
  }
  return listing;
}

std::vector<HubFile> ChooseFiles(const HubListing& listing, const std::vector<std::string>& patterns) {
  const bool has_safetensors = std::ranges::any_of(listing.files, IsSafetensors);
  std::vector<HubFile> chosen;
  std::ranges::copy_if(listing.files, std::back_inserter(chosen), [&](const HubFile& file) {
    return patterns.empty() ? IsOfModel(file, has_safetensors) : MatchesAny(file.path, patterns);
  });
  return chosen;
}

}  // namespace assay::hub
