// Records of a store on disk, as a disk may have changed them: any text is read or refused, and what was read makes
// sense and is written so that it reads the same.
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/json.h"
#include "fuzz_input.h"
#include "objectserver/record_json.h"

namespace {

using namespace assay;
using namespace assay::objectserver;
using fuzz::Require;

constexpr int64_t kDataBytes = 100;

/// The only file of content is "data".
std::shared_ptr<const DataFile> Find(const std::string& name, int64_t bytes) {
  static const auto folder = std::make_shared<const DataFolder>("/nowhere");
  return name == "data" && bytes <= kDataBytes ? std::make_shared<const DataFile>(folder, name) : nullptr;
}

void CheckDigests(const Digests& digests) {
  for (const auto& [kind, digest] : digests) {
    Require(digest.size() == storage::DigestBytes(kind), "a checksum has its kind's length");
  }
}

void CheckBlob(const Blob& blob) {
  Require(blob.size() >= 0, "content has no less than no bytes");
  for (const BlobSegment& segment : blob.segments()) {
    Require(segment.offset >= 0 && segment.length >= 0 && segment.offset + segment.length <= kDataBytes,
            "content lies within its file");
  }
}

void CheckObject(const ObjectRecord& object) {
  CheckBlob(object.blob);
  CheckDigests(object.digests);
  if (object.composite_kind) {
    CheckDigests({{*object.composite_kind, object.composite_digest}});
  }
  int64_t bytes = 0;
  for (const Part& part : object.parts) {
    Require(part.size >= 0 && part.size <= object.size(), "a part lies within its object");
    bytes += part.size;
  }
  Require(object.parts.empty() || bytes == object.size(), "parts add up to their object");
}

/// Writes what was read, reads it and writes it again.
template <typename Write, typename Read>
void CheckWritten(const nlohmann::json& written, const Write& write, const Read& read) {
  const auto again = read(written);
  Require(again.ok(), "what is written can be read");
  Require(write(*again) == written, "it is written the same again");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto json = ParseJson({reinterpret_cast<const char*>(data), size}, "record");
  if (!json.ok()) {
    return 0;
  }
  if (const auto object = ObjectFromJson(*json, Find, "object"); object.ok()) {
    CheckObject(*object);
    CheckWritten(ObjectToJson(*object), ObjectToJson, [](const auto& text) { return ObjectFromJson(text, Find, ""); });
  }
  if (const auto part = PartFromJson(*json, Find, "part"); part.ok()) {
    CheckBlob(part->blob);
    CheckDigests(part->digests);
    Require(part->size == part->blob.size(), "a part has the size of its content");
    CheckWritten(PartToJson(*part), PartToJson, [](const auto& text) { return PartFromJson(text, Find, ""); });
  }
  if (const auto upload = UploadFromJson(*json, "upload"); upload.ok()) {
    CheckWritten(UploadToJson(*upload), UploadToJson, [](const auto& text) { return UploadFromJson(text, ""); });
  }
  if (const auto bucket = BucketFromJson(*json, "bucket"); bucket.ok()) {
    CheckWritten(BucketToJson(*bucket), BucketToJson, [](const auto& text) { return BucketFromJson(text, ""); });
  }
  return 0;
}
