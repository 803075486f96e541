// The JSON that Google Cloud Storage and OCI Object Storage answer with: any text is read or refused.
#include <optional>
#include <string>
#include <string_view>

#include "fuzz_input.h"
#include "http/message.h"
#include "storage/gcs/gcs_failure.h"
#include "storage/gcs/gcs_json.h"
#include "storage/oci/oci_failure.h"
#include "storage/oci/oci_json.h"

namespace {

using namespace assay::storage;
using assay::fuzz::Require;

void CheckPage(const std::optional<ListPage>& page) {
  if (page) {
    for (const ObjectInfo& info : page->objects) {
      Require(info.size >= 0, "an object's size is no less than nothing");
    }
  }
}

void CheckObject(std::string_view body) {
  if (const auto info = ParseGcsObject(body)) {
    Require(info->size >= 0, "an object's size is no less than nothing");
    (void)GcsObjectBody(info->key, info->content_type, info->metadata, info->storage_class, info->checksum);
  }
}

void CheckMessage(const Failure& failure) {
  const std::string message = DescribeFailure("read", "gs://b/k", failure, 1).message();
  Require(message.find('\n') == std::string::npos, "an error is one line");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  CheckObject(body);
  CheckPage(ParseGcsList(body));
  CheckPage(ParseOciList(body));
  (void)ParseGcsRewrite(body);
  (void)ParseOciUploads(body);
  (void)OciTextAt(body, "uploadId");
  assay::http::Response answer;
  answer.status = 400;
  answer.body = body;
  CheckMessage(ReadGcsFailure(answer));
  CheckMessage(ReadOciFailure(answer));
  return 0;
}
