#include "storage/web/web_dialect.h"

#include <fmt/format.h>

#include <utility>

#include "storage/gcs/gcs_json.h"
#include "storage/transfer/object_headers.h"
#include "storage/web/web_urls.h"

namespace assay::storage {
namespace {

DialectTraits WebTraits() {
  DialectTraits traits;
  traits.head_tells_checksums = false;
  return traits;
}

/// Of the whole object: Google's servers name it in every answer, others where all of it comes (RFC 1864).
std::optional<Checksum> WebChecksum(const http::Response& answer) {
  // What Google keeps compressed and sends otherwise has the checksum of what is kept.
  if (answer.headers.Find("x-goog-stored-content-encoding").value_or("identity") != "identity") {
    return std::nullopt;
  }
  if (auto checksum = GcsHeaderChecksum(answer)) {
    return checksum;
  }
  const auto md5 = answer.status == 200 ? answer.headers.Find("content-md5") : std::nullopt;
  const std::optional<std::string> digest = md5 ? Base64Decode(*md5) : std::nullopt;
  return digest && digest->size() == DigestBytes(ChecksumKind::kMd5)
             ? std::optional(Checksum{ChecksumKind::kMd5, *digest})
             : std::nullopt;
}

Failure UnsupportedFailure(std::string message) {
  return MakeFailure(FailureClass::kPermanent, ErrorCode::kUnsupported, std::move(message));
}

Outgoing Ask(const char* method, std::string url) {
  Outgoing outgoing;
  outgoing.request.method = method;
  outgoing.request.url = std::move(url);
  outgoing.request.headers.Add("accept-encoding", "identity");
  return outgoing;
}

}  // namespace

WebDialect::WebDialect(std::vector<std::string> folders) : traits_(WebTraits()), places_(std::move(folders)) {}

std::string WebDialect::Uri(std::string_view key) const {
  return WebUri(places_.folder(), key);
}

Status WebDialect::CheckKey(std::string_view key) const {
  return CheckWebKey(key, Uri(key));
}

Failure WebDialect::ReadFailure(const http::Response& answer) const {
  Failure failure = FailureOfStatus(answer.status);
  TakeHeaders(answer, "x-request-id", failure);
  if (answer.status == 410) {
    failure.kind = FailureClass::kMissing;
    failure.code = ErrorCode::kNotFound;
  }
  if (failure.kind == FailureClass::kMissing) {
    failure.advice = "check the URL";
  } else if (failure.kind == FailureClass::kDenied && answer.status != 407) {
    failure.advice = "the server does not let everybody read it: ask for a URL that does";
  }
  return failure;
}

void WebDialect::Reroute(const Asked& asked, const http::Response& answer, Failure& failure) const {
  const auto location = answer.headers.Find("location");
  if (answer.status / 100 == 3 && location) {
    places_.Redirect(asked, std::string(*location), failure);
  } else if (failure.kind != FailureClass::kPermanent) {
    places_.Leave(asked, failure);
  }
}

Outgoing WebDialect::Head(const std::string& key) const {
  return Ask("HEAD", places_.UrlOf(key, ""));
}

ReadDialect::Read<ObjectInfo> WebDialect::ReadHead(const Asked& asked, const http::Response& answer) const {
  std::optional<ObjectInfo> info = ObjectInfoOf(asked.key, answer, "x-amz-meta-");
  if (!info) {
    return {{}, UnsupportedFailure("the server does not say how many bytes it has")};
  }
  info->checksum = WebChecksum(answer);
  const WebValidators validators = WebValidatorsOf(answer.headers);
  info->etag = places_.Recognise(asked, *info, validators);
  return {*std::move(info), std::nullopt};
}

Outgoing WebDialect::Get(const std::string& key, int64_t offset, int64_t length, const std::string& etag) const {
  Outgoing outgoing = Ask("GET", places_.UrlOf(key, etag));
  if (offset > 0 || !places_.is_served_whole(key)) {
    outgoing.request.headers.Add("range", RangeValue(offset, length));
  }
  places_.AddCondition(key, etag, outgoing.request.headers);
  return outgoing;
}

ReadDialect::Read<RangeHead> WebDialect::ReadGet(const Asked& asked, const http::Response& answer) const {
  if (answer.status == 206 && !WebValidatorsOf(answer.headers).tell_versions()) {
    return {{}, UnsupportedFailure("the server tells nothing by which one version of it differs from another")};
  }
  Read<ObjectInfo> info = ReadHead(asked, answer);
  return {RangeHead{std::move(info.value), std::nullopt}, std::move(info.failure)};
}

}  // namespace assay::storage
