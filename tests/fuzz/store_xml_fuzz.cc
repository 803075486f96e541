// The XML that S3 and its kin and Google's XML API answer with: any text is read or refused, and what was read can be
// sent back.
#include <pugixml.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "storage/gcs/gcs_dialect.h"
#include "storage/gcs/gcs_xml_dialect.h"
#include "storage/s3/s3_dialect.h"
#include "storage/s3/s3_xml.h"
#include "storage/s3/xml_document.h"
#include "store_answers.h"

namespace {

using namespace assay::storage;
using assay::fuzz::Require;

/// What `read` took of a truncated list under that root names the next page.
void CheckEnd(std::string_view body, const char* root, bool read, bool next) {
  pugi::xml_document document;
  const bool truncated = LoadXml(document, body, root).child_value("IsTruncated") == std::string_view("true");
  Require(!read || !truncated || next, "a list that goes on says where");
}

void CheckLists(std::string_view body) {
  const auto page = ParseListPage(body);
  CheckEnd(body, "ListBucketResult", page.ok(), page.ok() && !page->next_page_token.empty());
  const auto uploads = ParseUploads(body);
  CheckEnd(body, "ListMultipartUploadsResult", uploads.ok(), uploads.ok() && !uploads->next_key.empty());
  const auto parts = ParseParts(body);
  CheckEnd(body, "ListPartsResult", parts.ok(), parts.ok() && !parts->next_page.empty());
  if (parts.ok()) {
    assay::fuzz::CheckParts(*parts);
    Require(!CompleteUploadBody(parts->parts).empty(), "parts that were listed can be completed");
  }
  if (page.ok()) {
    std::vector<std::string> keys;
    for (const ObjectInfo& info : page->objects) {
      keys.push_back(info.key);
    }
    Require(ParseDeleteResult(DeleteBody(keys)) == std::nullopt, "a request is not taken for its answer");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  static const S3Address address = *S3Address::Make("b", "http://127.0.0.1", "us-east-1", {});
  static const S3Dialect s3(address, "us-east-1", {});
  static const GcsXmlDialect google(address, {});
  static const GcsDialect parts_of_google(GcsUrls("http://127.0.0.1", "b"), {});
  assay::fuzz::ReadEverything(s3, body);
  assay::fuzz::ReadEverything(google, body);
  assay::fuzz::ReadEverything(parts_of_google, body);
  (void)s3.ReadCopy(assay::fuzz::AnswerOf(200, body));
  (void)google.ReadCopy(assay::fuzz::AnswerOf(200, body));
  CheckLists(body);
  (void)ParseDeleteResult(body);
  return 0;
}
