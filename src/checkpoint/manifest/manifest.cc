#include "checkpoint/manifest/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/json.h"
#include "base/terminal.h"
#include "storage/integrity/checksum.h"

namespace assay::checkpoint {
namespace {

using nlohmann::json;

constexpr int64_t kManifestVersion = 1;
constexpr std::string_view kSumLine = "crc32c ";
constexpr int kCrcDigits = 8;

std::string HexOf(const std::vector<uint32_t>& crcs) {
  std::string text;
  text.reserve(crcs.size() * kCrcDigits);
  for (const uint32_t crc : crcs) {
    text += fmt::format("{:08x}", crc);
  }
  return text;
}

std::optional<uint32_t> CrcOf(std::string_view text) {
  uint32_t crc = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), crc, 16);
  return text.size() == kCrcDigits && error == std::errc() && end == text.data() + text.size() ? std::optional(crc)
                                                                                               : std::nullopt;
}

std::optional<std::vector<uint32_t>> CrcsOf(std::string_view text) {
  std::vector<uint32_t> crcs;
  for (; !text.empty(); text.remove_prefix(kCrcDigits)) {
    const std::optional<uint32_t> crc = CrcOf(text.substr(0, kCrcDigits));
    if (!crc) {
      return std::nullopt;
    }
    crcs.push_back(*crc);
  }
  return crcs;
}

/// Whether `name` stays below the checkpoint's place.
bool IsInnerName(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.back() == '/' || name.find('\0') != std::string_view::npos) {
    return false;
  }
  const std::string padded = "/" + std::string(name) + "/";
  return padded.find("/../") == std::string::npos && padded.find("/./") == std::string::npos &&
         padded.find("//") == std::string::npos;
}

class ManifestReader {
 public:
  explicit ManifestReader(const std::string& uri) : uri_(uri) {}

  Result<Manifest> Run(std::string_view text) {
    ASSAY_ASSIGN_OR_RETURN(const std::string_view line, CheckedLine(text));
    ASSAY_ASSIGN_OR_RETURN(const json document, ParseJson(line, uri_));
    if (!document.is_object()) {
      return Fail("is no object");
    }
    Manifest manifest;
    int64_t version = 0;
    int64_t segment_bytes = 0;
    std::string format;
    ASSAY_RETURN_IF_ERROR(ReadField(document, "version", version));
    ASSAY_RETURN_IF_ERROR(ReadField(document, "segment_bytes", segment_bytes));
    if (version != kManifestVersion || segment_bytes != kSegmentBytes) {
      return Status::Unsupported(
          fmt::format("{}: it is a manifest of version {}, which this program does not read", uri_, version));
    }
    ASSAY_RETURN_IF_ERROR(ReadField(document, "id", manifest.id));
    ASSAY_RETURN_IF_ERROR(ReadField(document, "format", format));
    ASSAY_ASSIGN_OR_RETURN(manifest.format, FormatOf(format));
    ASSAY_RETURN_IF_ERROR(ReadField(document, "time", manifest.time));
    ASSAY_RETURN_IF_ERROR(ReadField(document, "pointer", manifest.pointer));
    ASSAY_RETURN_IF_ERROR(ReadField(document, "replaced_etag", manifest.replaced_etag));
    if (const auto step = document.find("step"); step != document.end() && step->is_number_integer()) {
      manifest.step = step->get<int64_t>();
    }
    if (const auto structure = document.find("structure"); structure != document.end()) {
      manifest.structure = *structure;
    }
    ASSAY_RETURN_IF_ERROR(ReadMetrics(document, manifest));
    ASSAY_RETURN_IF_ERROR(ReadFiles(document, manifest));
    return manifest;
  }

  Result<ManifestFile> ReadOne(const json& entry) const {
    ManifestFile file;
    std::string crc;
    std::string segments;
    if (!entry.is_object()) {
      return Fail("has a file that is none");
    }
    ASSAY_RETURN_IF_ERROR(ReadField(entry, "name", file.name));
    ASSAY_RETURN_IF_ERROR(ReadField(entry, "bytes", file.bytes));
    ASSAY_RETURN_IF_ERROR(ReadField(entry, "crc32c", crc));
    ASSAY_RETURN_IF_ERROR(ReadField(entry, "segments", segments));
    const std::optional<uint32_t> whole = CrcOf(crc);
    std::optional<std::vector<uint32_t>> of_segments = CrcsOf(segments);
    if (!IsInnerName(file.name) || file.bytes < 0 || !whole || !of_segments ||
        static_cast<int64_t>(of_segments->size()) != file.bytes / kSegmentBytes + (file.bytes % kSegmentBytes != 0)) {
      return Fail(fmt::format("has a file '{}' whose checksums do not cover it", file.name));
    }
    file.crc32c = *whole;
    file.segments = std::move(*of_segments);
    const auto items = entry.find("items");
    for (const json& item : items == entry.end() ? json::array() : *items) {
      ASSAY_ASSIGN_OR_RETURN(ManifestItem read, ReadItem(item, file));
      file.items.push_back(std::move(read));
    }
    return file;
  }

 private:
  Status Fail(const std::string& what) const {
    return Status::InvalidArgument(fmt::format("{}: the manifest {}: it is damaged", uri_, what));
  }

  /// The first line, where the second has its checksum and nothing follows.
  Result<std::string_view> CheckedLine(std::string_view text) const {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return Fail("has no end");
    }
    const std::string_view line = text.substr(0, end);
    const uint32_t crc = storage::Crc32c(0, std::as_bytes(std::span(line)));
    return text.substr(end + 1) == fmt::format("{}{:08x}\n", kSumLine, crc)
               ? Result<std::string_view>(line)
               : Fail("does not have the checksum that it names");
  }

  Status ReadMetrics(const json& document, Manifest& manifest) const {
    const auto metrics = document.find("metrics");
    if (metrics == document.end() || !metrics->is_object()) {
      return Status::Ok();
    }
    for (const auto& [name, value] : metrics->items()) {
      if (!value.is_number()) {
        return Fail(fmt::format("has a metric '{}' that is no number", name));
      }
      manifest.metrics[name] = value.get<double>();
    }
    return Status::Ok();
  }

  Status ReadFiles(const json& document, Manifest& manifest) const {
    const auto files = document.find("files");
    if (files == document.end() || !files->is_array()) {
      return Fail("lists no files");
    }
    for (const json& entry : *files) {
      ASSAY_ASSIGN_OR_RETURN(ManifestFile file, ReadOne(entry));
      manifest.files.push_back(std::move(file));
    }
    manifest.SortFiles();
    const auto twice = std::ranges::adjacent_find(manifest.files, {}, &ManifestFile::name);
    if (twice != manifest.files.end()) {
      return Fail(fmt::format("lists '{}' twice", twice->name));
    }
    return manifest.Find(manifest.pointer) != nullptr ? Status::Ok()
                                                      : Fail(fmt::format("does not list '{}'", manifest.pointer));
  }

  /// [name, offset, bytes, crc32c]
  Result<ManifestItem> ReadItem(const json& item, const ManifestFile& file) const {
    const bool has_kinds = item.is_array() && item.size() == 4 && item[0].is_string() && item[1].is_number_integer() &&
                           item[2].is_number_integer() && item[3].is_string();
    const std::optional<uint32_t> crc = has_kinds ? CrcOf(item[3].get<std::string>()) : std::nullopt;
    if (!crc) {
      return Fail(fmt::format("has an item in '{}' that is none", file.name));
    }
    ManifestItem read = {item[0].get<std::string>(), item[1].get<int64_t>(), item[2].get<int64_t>(), *crc};
    const int64_t before = file.items.empty() ? 0 : file.items.back().offset + file.items.back().bytes;
    if (read.bytes < 0 || read.offset < before || read.bytes > file.bytes || read.offset > file.bytes - read.bytes) {
      return Fail(fmt::format("has an item '{}' that does not lie in '{}'", read.name, file.name));
    }
    return read;
  }

  const std::string& uri_;
};

}  // namespace

const ManifestFile* Manifest::Find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(files, name, {}, &ManifestFile::name);
  return found == files.end() || found->name != name ? nullptr : &*found;
}

void Manifest::SortFiles() {
  std::ranges::sort(files, {}, &ManifestFile::name);
}

int64_t Manifest::bytes() const {
  int64_t bytes = 0;
  for (const ManifestFile& file : files) {
    bytes += file.bytes;
  }
  return bytes;
}

ManifestFile DescribeFile(std::string name, const FileLayout& layout, const FileDigest& digest) {
  ManifestFile file = {std::move(name), digest.bytes, digest.crc32c, digest.segments, {}};
  for (size_t i = 0; i < layout.items().size(); ++i) {
    const FileItem& item = layout.items()[i];
    if (!item.name.empty()) {
      file.items.push_back({item.name, item.offset, item.bytes, digest.items[i]});
    }
  }
  return file;
}

json ToJson(const ManifestFile& file) {
  json items = json::array();
  for (const ManifestItem& item : file.items) {
    items.push_back({item.name, item.offset, item.bytes, fmt::format("{:08x}", item.crc32c)});
  }
  return {{"name", file.name},
          {"bytes", file.bytes},
          {"crc32c", fmt::format("{:08x}", file.crc32c)},
          {"segments", HexOf(file.segments)},
          {"items", std::move(items)}};
}

Result<ManifestFile> ManifestFileFromJson(const json& json, const std::string& uri) {
  return ManifestReader(uri).ReadOne(json);
}

std::string WriteManifest(const Manifest& manifest) {
  json files = json::array();
  for (const ManifestFile& file : manifest.files) {
    files.push_back(ToJson(file));
  }
  json document = {{"version", kManifestVersion},
                   {"id", manifest.id},
                   {"format", NameOf(manifest.format)},
                   {"step", manifest.step ? json(*manifest.step) : json()},
                   {"time", manifest.time},
                   {"metrics", manifest.metrics},
                   {"pointer", manifest.pointer},
                   {"replaced_etag", manifest.replaced_etag},
                   {"segment_bytes", kSegmentBytes},
                   {"structure", manifest.structure},
                   {"files", std::move(files)}};
  const std::string line = DumpJson(document);
  return fmt::format("{}\n{}{:08x}\n", line, kSumLine, storage::Crc32c(0, std::as_bytes(std::span(line))));
}

Result<Manifest> ReadManifest(std::string_view text, const std::string& uri) {
  Result<Manifest> manifest = ManifestReader(uri).Run(text);
  if (manifest.ok()) {
    return manifest;
  }
  const Status failed = Escaped(manifest.status());
  return failed.message().starts_with(uri) ? failed : failed.WithContext(uri);
}

std::string ManifestName(std::string_view file, std::string_view id) {
  return file.empty() ? fmt::format("manifest-{}.assay", id) : fmt::format("{}.manifest-{}.assay", file, id);
}

std::optional<std::string> ManifestIdOf(std::string_view name, std::string_view file) {
  const std::string begin = file.empty() ? "manifest-" : std::string(file) + ".manifest-";
  constexpr std::string_view kEnd = ".assay";
  const bool fits = name.size() > begin.size() + kEnd.size() && name.starts_with(begin) && name.ends_with(kEnd);
  return fits ? std::optional(std::string(name.substr(begin.size(), name.size() - begin.size() - kEnd.size())))
              : std::nullopt;
}

}  // namespace assay::checkpoint
