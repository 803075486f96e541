#include "shards/format/manifest.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json.h"
#include "shards/format/index_json.h"

namespace assay::shards {
namespace {

using nlohmann::json;

constexpr int64_t kManifestFormat = 1;

std::string CrcText(uint32_t crc) {
  return fmt::format("{:08x}", crc);
}

Result<uint32_t> ReadCrc(const IndexField& field, std::string_view name) {
  ASSAY_ASSIGN_OR_RETURN(const std::string text, field.Text(name));
  uint32_t crc = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), crc, 16);
  return error == std::errc() && end == text.data() + text.size() ? Result<uint32_t>(crc)
                                                                  : field.Error("a checksum is no number");
}

Result<SampleTableFile> ReadTable(const IndexField& field) {
  SampleTableFile table;
  ASSAY_ASSIGN_OR_RETURN(table.name, field.Text("name"));
  if (const Status safe = CheckBasename(table.name); !safe.ok()) {
    return field.Error(safe.message());
  }
  ASSAY_ASSIGN_OR_RETURN(table.bytes, field.Count("bytes"));
  ASSAY_ASSIGN_OR_RETURN(table.shards, field.Count("shards"));
  ASSAY_ASSIGN_OR_RETURN(table.crc32c, ReadCrc(field, "crc32c"));
  return table;
}

Result<ShardProof> ReadProof(const IndexField& field) {
  ShardProof proof;
  ASSAY_ASSIGN_OR_RETURN(proof.crc32c, ReadCrc(field, "crc32c"));
  if (field.Has("meta_crc32c")) {
    ASSAY_ASSIGN_OR_RETURN(proof.meta_crc32c, ReadCrc(field, "meta_crc32c"));
  }
  ASSAY_ASSIGN_OR_RETURN(proof.raw_digest, field.Text("raw_digest"));
  ASSAY_ASSIGN_OR_RETURN(const int64_t offset, field.Count("first_offset"));
  proof.first_offset = static_cast<uint64_t>(offset);
  return proof;
}

}  // namespace

std::string VersionFolder(int64_t version) {
  return fmt::format("{}v{:06}/", kSidecarFolder, version);
}

std::string ContentHash(const DatasetIndex& index, std::span<const ShardProof> proofs) {
  std::string content;
  for (size_t i = 0; i < index.shards.size(); ++i) {
    const ShardSchema& schema = *index.shards[i].schema;
    if (i == 0 || index.shards[i - 1].schema != index.shards[i].schema) {
      ShardSchema plain = schema;  // what does not say how the rows are packed
      plain.compression = {};
      plain.hashes = {};
      plain.size_limit = {};
      content += FormatSchema(plain) + "\n";
    }
    content += fmt::format("{} {}\n", index.shards[i].samples, proofs[i].raw_digest);
  }
  return Sha256Hex(content);
}

std::string FormatManifest(const Manifest& manifest) {
  json tables = json::array();
  for (const SampleTableFile& table : manifest.tables) {
    tables.push_back(
        {{"name", table.name}, {"bytes", table.bytes}, {"shards", table.shards}, {"crc32c", CrcText(table.crc32c)}});
  }
  json shards = json::array();
  for (const ShardProof& proof : manifest.shards) {
    json shard = {
        {"crc32c", CrcText(proof.crc32c)}, {"raw_digest", proof.raw_digest}, {"first_offset", proof.first_offset}};
    if (proof.meta_crc32c != 0) {
      shard["meta_crc32c"] = CrcText(proof.meta_crc32c);
    }
    shards.push_back(std::move(shard));
  }
  return DumpJson({{"format", kManifestFormat},
                   {"version", manifest.version},
                   {"index", {{"name", manifest.index_name}, {"sha256", manifest.index_sha256}}},
                   {"content_hash", manifest.content_hash},
                   {"samples", manifest.samples},
                   {"tokens", manifest.tokens ? json(*manifest.tokens) : json()},
                   {"tokenizer_hash", manifest.tokenizer_hash},
                   {"tables", tables},
                   {"shards", shards}}) +
         "\n";
}

Result<Manifest> ParseManifest(std::string_view text, std::string_view source) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (const auto error = parser.parse(text.data(), text.size()).get(root)) {
    return Status::InvalidArgument(fmt::format("{} is no JSON: {}", source, simdjson::error_message(error)));
  }
  const IndexField field{std::string(source), root};
  ASSAY_ASSIGN_OR_RETURN(const int64_t format, field.Count("format"));
  if (format != kManifestFormat) {
    return Status::FailedPrecondition(
        fmt::format("{} is of format {}: a newer assay wrote it, take that one", source, format));
  }
  Manifest manifest;
  ASSAY_ASSIGN_OR_RETURN(manifest.version, field.Count("version"));
  ASSAY_ASSIGN_OR_RETURN(const IndexField index, field.At("index"));
  ASSAY_ASSIGN_OR_RETURN(manifest.index_name, index.Text("name"));
  if (const Status safe = CheckBasename(manifest.index_name); !safe.ok()) {
    return index.Error(safe.message());
  }
  ASSAY_ASSIGN_OR_RETURN(manifest.index_sha256, index.Text("sha256"));
  ASSAY_ASSIGN_OR_RETURN(manifest.content_hash, field.Text("content_hash"));
  ASSAY_ASSIGN_OR_RETURN(manifest.samples, field.Count("samples"));
  if (field.Has("tokens")) {
    ASSAY_ASSIGN_OR_RETURN(manifest.tokens, field.Count("tokens"));
  }
  ASSAY_ASSIGN_OR_RETURN(manifest.tokenizer_hash, field.Text("tokenizer_hash"));
  ASSAY_ASSIGN_OR_RETURN(const simdjson::dom::array tables, field.List("tables"));
  for (const simdjson::dom::element table : tables) {
    ASSAY_ASSIGN_OR_RETURN(SampleTableFile read, ReadTable({fmt::format("{}: tables", source), table}));
    manifest.tables.push_back(std::move(read));
  }
  ASSAY_ASSIGN_OR_RETURN(const simdjson::dom::array shards, field.List("shards"));
  for (const simdjson::dom::element shard : shards) {
    const std::string where = fmt::format("{}: shard {}", source, manifest.shards.size());
    ASSAY_ASSIGN_OR_RETURN(ShardProof proof, ReadProof({where, shard}));
    manifest.shards.push_back(std::move(proof));
  }
  return manifest;
}

}  // namespace assay::shards
