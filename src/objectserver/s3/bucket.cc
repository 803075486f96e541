// Operations on buckets.
#include <fmt/format.h>

#include "objectserver/s3/operations.h"
#include "objectserver/s3/xml.h"

namespace assay::objectserver::s3 {
namespace {

/// The bucket, or the answer that it does not exist.
std::optional<BucketRecord> FindBucket(const Context& context, const Request& request, http::ServerResponse& answer) {
  std::optional<BucketRecord> bucket = context.store->FindBucket(request.bucket);
  if (!bucket) {
    answer = OutcomeAnswer(request, {StoreCode::kNoSuchBucket, nullptr, {}});
  }
  return bucket;
}

}  // namespace

http::ServerResponse ListBuckets(const Context& context, const Request& request, std::string_view) {
  const std::string prefix = request.query.Get("prefix");
  XmlWriter xml;
  xml.OpenRoot("ListAllMyBucketsResult");
  xml.Open("Owner");
  xml.Leaf("ID", "assay");
  xml.Leaf("DisplayName", "assay");
  xml.Close();
  xml.Open("Buckets");
  for (const BucketRecord& bucket : context.store->Buckets()) {
    if (!bucket.name.starts_with(prefix)) {
      continue;
    }
    xml.Open("Bucket");
    xml.Leaf("Name", bucket.name);
    xml.Leaf("CreationDate", IsoTimestamp(bucket.created));
    xml.Leaf("BucketRegion", bucket.region);
    xml.Close();
  }
  xml.Close();
  xml.Close();
  return XmlAnswer(request, xml.Take());
}

http::ServerResponse CreateBucket(const Context& context, const Request& request, std::string_view) {
  if (!IsBucketName(request.bucket)) {
    return ErrorAnswer(request, {"InvalidBucketName", {}, 0, {{"BucketName", request.bucket}}});
  }
  const StoreOutcome outcome = context.store->CreateBucket(request.bucket, context.options->region);
  if (!outcome.ok()) {
    return OutcomeAnswer(request, outcome);
  }
  http::ServerResponse answer = Answer(request);
  answer.headers.Add("Location", '/' + request.bucket);
  return answer;
}

http::ServerResponse HeadBucket(const Context& context, const Request& request, std::string_view) {
  http::ServerResponse answer = Answer(request);
  if (const auto bucket = FindBucket(context, request, answer)) {
    answer.headers.Add("x-amz-bucket-region", bucket->region);
  }
  return answer;
}

http::ServerResponse DeleteBucket(const Context& context, const Request& request, std::string_view) {
  const StoreOutcome outcome = context.store->RemoveBucket(request.bucket);
  return outcome.ok() ? Answer(request, 204) : OutcomeAnswer(request, outcome);
}

http::ServerResponse GetBucketLocation(const Context& context, const Request& request, std::string_view) {
  http::ServerResponse answer;
  const auto bucket = FindBucket(context, request, answer);
  if (!bucket) {
    return answer;
  }
  // The oldest region has no name here.
  const std::string region = bucket->region == "us-east-1" ? "" : bucket->region;
  return XmlAnswer(request, fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                                        "<LocationConstraint xmlns=\"{}\">{}</LocationConstraint>",
                                        kS3Namespace, region));
}

http::ServerResponse GetBucketVersioning(const Context& context, const Request& request, std::string_view) {
  http::ServerResponse answer;
  if (!FindBucket(context, request, answer)) {
    return answer;
  }
  XmlWriter xml;
  xml.OpenRoot("VersioningConfiguration");
  xml.Close();
  return XmlAnswer(request, xml.Take());
}

}  // namespace assay::objectserver::s3
