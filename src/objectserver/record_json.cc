#include "objectserver/record_json.h"

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

namespace assay::objectserver {
namespace {

using nlohmann::json;

constexpr int64_t kMaxBytes = std::numeric_limits<int64_t>::max();

/// Throws where a record does not hold together: it is damaged.
void Demand(bool holds, const std::string& otherwise) {
  if (!holds) {
    throw std::runtime_error(otherwise);
  }
}

// Keys and metadata may hold bytes that are no UTF-8, which JSON cannot: all text of users is kept as base64.
std::string Pack(const std::string& text) {
  return storage::Base64Encode(text);
}

std::string Unpack(const json& value) {
  return storage::Base64Decode(value.get<std::string>()).value();
}

json TextsToJson(const std::map<std::string, std::string>& texts) {
  json packed = json::object();
  for (const auto& [name, value] : texts) {
    packed[Pack(name)] = Pack(value);
  }
  return packed;
}

std::map<std::string, std::string> TextsFromJson(const json& packed) {
  std::map<std::string, std::string> texts;
  for (const auto& [name, value] : packed.items()) {
    texts[storage::Base64Decode(name).value()] = Unpack(value);
  }
  return texts;
}

json AttributesToJson(const Attributes& attributes) {
  return {{"content_type", Pack(attributes.content_type)},
          {"system", TextsToJson(attributes.system)},
          {"metadata", TextsToJson(attributes.metadata)},
          {"storage_class", Pack(attributes.storage_class)}};
}

Attributes AttributesFromJson(const json& value) {
  return {Unpack(value.at("content_type")), TextsFromJson(value.at("system")), TextsFromJson(value.at("metadata")),
          Unpack(value.at("storage_class"))};
}

json DigestsToJson(const Digests& digests) {
  json value = json::object();
  for (const auto& [kind, digest] : digests) {
    value[std::string(storage::NameOf(kind))] = storage::HexEncode(digest);
  }
  return value;
}

Digests DigestsFromJson(const json& value) {
  Digests digests;
  for (const auto& [name, digest] : value.items()) {
    const storage::ChecksumKind kind = storage::ChecksumKindOf(name).value();
    std::string& bytes = digests[kind] = storage::HexDecode(digest.get<std::string>()).value();
    Demand(bytes.size() == storage::DigestBytes(kind), "a checksum does not have its kind's length");
  }
  return digests;
}

json BlobToJson(const Blob& blob) {
  json segments = json::array();
  for (const BlobSegment& segment : blob.segments()) {
    segments.push_back({segment.file->name(), segment.offset, segment.length});
  }
  return segments;
}

Blob BlobFromJson(const json& value, const DataFileLookup& files) {
  std::vector<BlobSegment> segments;
  int64_t size = 0;
  for (const json& segment : value) {
    const auto name = segment.at(0).get<std::string>();
    const auto offset = segment.at(1).get<int64_t>();
    const auto length = segment.at(2).get<int64_t>();
    Demand(offset >= 0 && length >= 0 && offset <= kMaxBytes - length && size <= kMaxBytes - length,
           "it names no range of its content " + name);
    auto file = files(name, offset + length);
    Demand(file != nullptr, "its content " + name + " is missing or too short");
    segments.push_back({nullptr, std::move(file), offset, length});
    size += length;
  }
  return Blob(std::move(segments));
}

json PartFields(const Part& part) {
  return {{"number", part.number},
          {"size", part.size},
          {"etag", part.etag},
          {"digests", DigestsToJson(part.digests)},
          {"modified", part.modified}};
}

Part PartFromFields(const json& value) {
  return {value.at("number").get<int>(),        value.at("size").get<int64_t>(),    value.at("etag").get<std::string>(),
          DigestsFromJson(value.at("digests")), value.at("modified").get<double>(), {}};
}

/// The parts of an object lie in its content one behind the other.
void DemandThatPartsAddUp(const ObjectRecord& object) {
  int64_t rest = object.size();
  for (const Part& part : object.parts) {
    Demand(part.size >= 0 && part.size <= rest, "its parts are not its content");
    rest -= part.size;
  }
  Demand(object.parts.empty() || rest == 0, "its parts are not its content");
}

/// Runs a reader that throws on what it does not find, and says so in one line.
template <typename Read>
auto Guarded(const std::string& source, Read read) -> Result<decltype(read())> {
  try {
    return read();
  } catch (const std::exception& error) {
    return Status::FailedPrecondition("the record " + source + " is damaged: " + error.what());
  }
}

}  // namespace

json BucketToJson(const BucketRecord& bucket) {
  return {{"name", bucket.name}, {"created", bucket.created}, {"region", bucket.region}};
}

json PartToJson(const Part& part) {
  json value = PartFields(part);
  value["segments"] = BlobToJson(part.blob);
  return value;
}

json ObjectToJson(const ObjectRecord& object) {
  json value = {{"key", Pack(object.key)},
                {"segments", BlobToJson(object.blob)},
                {"etag", object.etag},
                {"generation", object.generation},
                {"metageneration", object.metageneration},
                {"created", object.created},
                {"modified", object.modified},
                {"attributes", AttributesToJson(object.attributes)},
                {"digests", DigestsToJson(object.digests)},
                {"upload_id", object.upload_id},
                {"parts", json::array()}};
  if (object.composite_kind) {
    value["composite"] = DigestsToJson({{*object.composite_kind, object.composite_digest}});
  }
  for (const Part& part : object.parts) {
    value["parts"].push_back(PartFields(part));
  }
  return value;
}

json UploadToJson(const Upload& upload) {
  json value = {{"id", upload.id},
                {"key", Pack(upload.key)},
                {"initiated", upload.initiated},
                {"attributes", AttributesToJson(upload.attributes)},
                {"composite_checksum", upload.composite_checksum},
                {"notes", TextsToJson(upload.notes)}};
  if (upload.checksum_kind) {
    value["checksum_kind"] = storage::NameOf(*upload.checksum_kind);
  }
  return value;
}

Result<BucketRecord> BucketFromJson(const json& value, const std::string& source) {
  return Guarded(source, [&] {
    return BucketRecord{value.at("name").get<std::string>(), value.at("created").get<double>(),
                        value.at("region").get<std::string>()};
  });
}

Result<ObjectRecord> ObjectFromJson(const json& value, const DataFileLookup& files, const std::string& source) {
  return Guarded(source, [&] {
    ObjectRecord object;
    object.key = Unpack(value.at("key"));
    object.blob = BlobFromJson(value.at("segments"), files);
    object.etag = value.at("etag").get<std::string>();
    object.generation = value.at("generation").get<uint64_t>();
    object.metageneration = value.at("metageneration").get<uint64_t>();
    object.created = value.at("created").get<double>();
    object.modified = value.at("modified").get<double>();
    object.attributes = AttributesFromJson(value.at("attributes"));
    object.digests = DigestsFromJson(value.at("digests"));
    object.upload_id = value.at("upload_id").get<std::string>();
    for (const json& part : value.at("parts")) {
      object.parts.push_back(PartFromFields(part));
    }
    if (value.contains("composite")) {
      const Digests composite = DigestsFromJson(value.at("composite"));
      Demand(composite.size() == 1, "the checksum of its parts' checksums is not one");
      object.composite_kind = composite.begin()->first;
      object.composite_digest = composite.begin()->second;
    }
    DemandThatPartsAddUp(object);
    return object;
  });
}

Result<Upload> UploadFromJson(const json& value, const std::string& source) {
  return Guarded(source, [&] {
    Upload upload;
    upload.id = value.at("id").get<std::string>();
    upload.key = Unpack(value.at("key"));
    upload.initiated = value.at("initiated").get<double>();
    upload.attributes = AttributesFromJson(value.at("attributes"));
    upload.composite_checksum = value.at("composite_checksum").get<bool>();
    upload.notes = TextsFromJson(value.at("notes"));
    if (value.contains("checksum_kind")) {
      upload.checksum_kind = storage::ChecksumKindOf(value.at("checksum_kind").get<std::string>()).value();
    }
    return upload;
  });
}

Result<Part> PartFromJson(const json& value, const DataFileLookup& files, const std::string& source) {
  return Guarded(source, [&] {
    Part part = PartFromFields(value);
    part.blob = BlobFromJson(value.at("segments"), files);
    Demand(part.size == part.blob.size(), "its size is not that of its content");
    return part;
  });
}

}  // namespace assay::objectserver
