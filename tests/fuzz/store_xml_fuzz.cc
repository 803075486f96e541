// The XML that S3 and its kin answer with: any text is read or refused, and what was read can be sent back.
#include <string>
#include <string_view>
#include <vector>

#include "fuzz_input.h"
#include "http/message.h"
#include "storage/s3/s3_failure.h"
#include "storage/s3/s3_xml.h"

namespace {

using namespace assay::storage;
using assay::fuzz::Require;

void CheckPage(std::string_view body) {
  const auto page = ParseListPage(body);
  if (!page) {
    return;
  }
  std::vector<std::string> keys;
  for (const ObjectInfo& info : page->objects) {
    Require(info.size >= 0, "an object's size is no less than nothing");
    keys.push_back(info.key);
  }
  Require(ParseDeleteResult(DeleteBody(keys)) == std::nullopt, "a request is not taken for its answer");
}

void CheckParts(std::string_view body) {
  const auto page = ParseParts(body);
  if (!page) {
    return;
  }
  for (const UploadedPart& part : page->parts) {
    Require(part.bytes >= 0 && part.number >= 0, "a part's size and number are no less than nothing");
  }
  Require(!CompleteUploadBody(page->parts).empty(), "parts that were listed can be completed");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  CheckPage(body);
  CheckParts(body);
  (void)ParseUploadId(body);
  (void)ParseResultBody(body);
  (void)ParseUploads(body);
  (void)ParseDeleteResult(body);
  assay::http::Response answer;
  answer.status = 400;
  answer.body = body;
  const Failure failure = ReadS3Failure(answer, "us-east-1");
  const std::string message = DescribeFailure("read", "s3://b/k", failure, 1).message();
  Require(message.find('\n') == std::string::npos, "an error is one line");
  return 0;
}
