#include "objectserver/record_json.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

namespace assay::objectserver {
namespace {

using nlohmann::json;

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
    digests[storage::ChecksumKindOf(name).value()] = storage::HexDecode(digest.get<std::string>()).value();
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

/// Throws when a file is missing: the record is damaged.
Blob BlobFromJson(const json& value, const DataFileLookup& files) {
  std::vector<BlobSegment> segments;
  for (const json& segment : value) {
    auto file = files(segment.at(0).get<std::string>());
    if (!file) {
      throw std::runtime_error("its content " + segment.at(0).get<std::string>() + " is missing");
    }
    segments.push_back({nullptr, std::move(file), segment.at(1).get<int64_t>(), segment.at(2).get<int64_t>()});
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
      object.composite_kind = composite.begin()->first;
      object.composite_digest = composite.begin()->second;
    }
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
      upload.checksum_kind = storage::ChecksumKindOf(value.at("checksum_kind").get<std::string>());
    }
    return upload;
  });
}

Result<Part> PartFromJson(const json& value, const DataFileLookup& files, const std::string& source) {
  return Guarded(source, [&] {
    Part part = PartFromFields(value);
    part.blob = BlobFromJson(value.at("segments"), files);
    return part;
  });
}

}  // namespace assay::objectserver
