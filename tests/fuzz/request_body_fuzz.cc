// The XML and JSON that the object server reads from requests: whatever a body holds, it is answered. The first byte of
// an input chooses the request, the rest is its body.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "object_world.h"

namespace {

using namespace assay;
using fuzz::World;

struct BodyRequest {
  const char* method;
  const char* target;
  const char* content_type;
};

constexpr BodyRequest kRequests[] = {
    {"POST", "/test?delete", "application/xml"},
    {"POST", "/test/m?uploadId=", "application/xml"},  // with the id of an upload that has a part "e"
    {"PUT", "/made", "application/xml"},
    {"POST", "/storage/v1/b", "application/json"},
    {"PATCH", "/storage/v1/b/test/o/k", "application/json"},
    {"POST", "/storage/v1/b/test/o/c/compose", "application/json"},
    {"POST", "/storage/v1/b/test/o/k/rewriteTo/b/test/o/r", "application/json"},
    {"POST", "/upload/storage/v1/b/test/o?uploadType=resumable&name=k", "application/json"},
    {"POST", "/upload/storage/v1/b/test/o?uploadType=multipart", "multipart/related; boundary=b"},
    {"POST", "/n/assay/b", "application/json"},
    {"POST", "/n/assay/b/test/u", "application/json"},
    {"POST", "/n/assay/b/test/u/m?uploadId=", "application/json"},  // likewise
    {"POST", "/n/assay/b/test/p", "application/json"},
    {"POST", "/n/assay/b/test/actions/copyObject", "application/json"},
    {"POST", "/n/assay/b/test/actions/renameObject", "application/json"},
    {"POST", "/token", "application/x-www-form-urlencoded"},
};

http::RequestHead Head(const BodyRequest& request, std::string target, size_t size) {
  http::RequestHead head;
  head.method = request.method;
  head.target = std::move(target);
  head.headers.Add("Host", "127.0.0.1:9000");
  head.headers.Add("Content-Type", request.content_type);
  head.content_length = static_cast<int64_t>(size);
  return head;
}

/// The only part of an upload, as another dialect's request left it: without the checksum that this one's would have.
objectserver::Part MakePart(World& world) {
  constexpr std::string_view kContent = "part";
  auto writer = world.store->NewWriter(kContent.size()).value();
  std::ranges::copy(std::as_bytes(std::span(kContent)), writer->Memory(kContent.size()).begin());
  fuzz::Require(writer->Received(kContent.size()).ok(), "a store in memory takes content");
  objectserver::Part part;
  part.number = 1;
  part.size = kContent.size();
  part.etag = "e";
  part.blob = writer->Finish().value();
  return part;
}

/// The upload of "m", begun where there is none.
std::string UploadId(World& world) {
  for (const objectserver::Upload& upload : world.store->Uploads("test")) {
    if (upload.key == "m") {
      return upload.id;
    }
  }
  objectserver::Upload upload;
  upload.key = "m";
  const std::string id = world.store->CreateUpload("test", upload).message;
  fuzz::Require(world.store->PutPart("test", id, MakePart(world)).ok(), "an upload takes parts");
  return id;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static std::unique_ptr<World> worlds;
  if (size == 0) {
    return 0;
  }
  World& world = fuzz::NextWorld(worlds, 300);
  const BodyRequest& request = kRequests[data[0] % std::size(kRequests)];
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string target = request.target;
  if (target.ends_with('=')) {
    target += UploadId(world);
  }
  (void)world.Answer(Head(request, std::move(target), body.size()), body);
  return 0;
}
