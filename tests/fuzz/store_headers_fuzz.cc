// What stores say in the headers of their answers: any are read or refused, and what was read makes sense. Lines of an
// input: the status, then headers "name:value".
#include <cctype>
#include <optional>
#include <string>

#include "signed_request.h"
#include "storage/gcs/gcs_dialect.h"
#include "storage/gcs/gcs_xml_dialect.h"
#include "storage/oci/oci_dialect.h"
#include "storage/s3/s3_dialect.h"
#include "storage/transfer/object_headers.h"
#include "storage/web/web_dialect.h"
#include "store_answers.h"

namespace {

using namespace assay;
using namespace assay::storage;
using fuzz::Require;

void CheckChecksum(const std::optional<Checksum>& checksum) {
  Require(!checksum || checksum->value.size() == DigestBytes(checksum->kind), "a checksum has its kind's length");
}

void CheckObject(const Dialect::Read<ObjectInfo>& read) {
  if (read.failure) {
    fuzz::CheckMessage(*read.failure);
    return;
  }
  Require(read.value.key == "k", "an object is the one that was asked for");
  Require(read.value.size >= 0, "an object's size is no less than nothing");
  CheckChecksum(read.value.checksum);
  for (const auto& [name, value] : read.value.metadata) {
    Require(name == Lower(name), "names of metadata are in lower case");
  }
}

void CheckRange(const Dialect::Read<RangeHead>& read, const http::Response& answer) {
  if (read.failure) {
    fuzz::CheckMessage(*read.failure);
    return;
  }
  CheckObject({read.value.info, std::nullopt});
  CheckChecksum(read.value.range_checksum);
  const auto length = ParseCount(answer.headers.Find("content-length").value_or(""));
  Require(!read.value.range_checksum || answer.status == 206, "only a range has a checksum of its own");
  Require(!read.value.range_checksum || length != read.value.info.size, "a range that is all has the checksum of all");
}

void CheckPart(const Dialect::Read<UploadedPart>& read) {
  if (!read.failure) {
    CheckChecksum(read.value.checksum);
    CheckChecksum(read.value.digest);
  }
}

void ReadObject(const ReadDialect& dialect, const http::Response& answer) {
  const std::string key = "k";
  const std::string url = dialect.Head(key).request.url;
  if (answer.status / 100 != 2) {
    Failure failure = dialect.ReadFailure(answer);
    fuzz::CheckMessage(failure);
    Require(failure.retry_after_seconds >= 0, "nobody asks for an answer before now");
    dialect.Reroute({key, url}, answer, failure);
    fuzz::CheckMessage(failure);
    Require(!http::FlawOf(dialect.Get(key, 0, 1, "").request), "what is asked next can be sent");
    return;
  }
  CheckObject(dialect.ReadHead({key, url}, answer));
  CheckRange(dialect.ReadGet({key, url}, answer), answer);
}

void Read(const Dialect& dialect, const http::Response& answer) {
  ReadObject(dialect, answer);
  if (answer.status / 100 != 2) {
    return;
  }
  CheckObject(dialect.ReadPut("k", answer));
  CheckObject(dialect.ReadCompleteUpload("k", answer));
  CheckPart(dialect.ReadPutPart(answer));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const S3Address address = *S3Address::Make("b", "http://127.0.0.1", "us-east-1", {});
  static const S3Dialect s3(address, "us-east-1", {});
  static const GcsXmlDialect google_xml(address, {});
  static const GcsDialect gcs(GcsUrls("http://127.0.0.1", "b"), {});
  static const OciDialect oci(OciUrls("http://127.0.0.1", "n", "b"), {});
  fuzz::Input input(data, size);
  http::Response answer;
  answer.status = static_cast<int>(ParseCount(input.Line()).value_or(200) % 600);
  answer.headers = fuzz::ReadHeaders(input);
  for (const Dialect* dialect : {static_cast<const Dialect*>(&s3), static_cast<const Dialect*>(&google_xml),
                                 static_cast<const Dialect*>(&gcs), static_cast<const Dialect*>(&oci)}) {
    Read(*dialect, answer);
  }
  // It remembers where redirects lead.
  ReadObject(WebDialect({"https://h/d/", "https://m/d/"}), answer);
  return 0;
}
