// The JSON that Google Cloud Storage and OCI Object Storage answer with: any text is read or refused.
#include <string>
#include <string_view>

#include "base/json.h"
#include "storage/gcs/gcs_dialect.h"
#include "storage/gcs/gcs_json.h"
#include "storage/oci/oci_dialect.h"
#include "storage/oci/oci_json.h"
#include "storage/transfer/answer_json.h"
#include "store_answers.h"

namespace {

using namespace assay::storage;
using assay::fuzz::Require;

void CheckObject(std::string_view body) {
  if (const auto info = ParseGcsObject("k", body)) {
    Require(info->key == "k", "an object is the one that was asked for");
    Require(info->size >= 0, "an object's size is no less than nothing");
    (void)GcsObjectBody(info->key, info->content_type, info->metadata, info->storage_class, info->checksum);
  }
}

/// What a list that was taken says of the next page is what it is asked for.
void CheckEnd(const assay::Result<ListPage>& page, std::string_view body, const char* next) {
  if (page.ok()) {
    const nlohmann::json json = AnswerJson(body);
    Require(!json.contains(next) || json[next].is_null() || json[next] == page->next_page_token,
            "a list that goes on says where");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  static const GcsDialect gcs(GcsUrls("http://127.0.0.1", "b"), {});
  static const OciDialect oci(OciUrls("http://127.0.0.1", "n", "b"), {});
  assay::fuzz::ReadEverything(gcs, body);
  assay::fuzz::ReadEverything(oci, body);
  CheckObject(body);
  CheckEnd(ParseGcsList(body), body, "nextPageToken");
  CheckEnd(ParseOciList(body), body, "nextStartWith");
  (void)ParseGcsRewrite("k", body);
  if (const auto uploads = ParseOciUploads(body); uploads.ok()) {
    Require(CheckUploads("", *uploads).ok(), "an upload that is taken has a key and an id");
  }
  (void)OciTextAt(body, "uploadId");
  return 0;
}
