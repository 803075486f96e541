#include "objectserver/s3/request.h"

#include <strings.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "base/text.h"
#include "http/message.h"
#include "objectserver/object_key.h"

namespace assay::objectserver::s3 {
namespace {

constexpr size_t kMaxMetadataBytes = 2048;
constexpr char kEncryptionHeader[] = "x-amz-server-side-encryption";
constexpr char kEncryptionKeyHeader[] = "x-amz-server-side-encryption-aws-kms-key-id";
constexpr std::string_view kReservedNames[] = {"metrics", "storage", "upload", "download", "token", "oauth2"};

/// "aws-chunked" is how the body came, not what the object is.
std::string WithoutAwsChunked(std::string_view encoding) {
  std::vector<std::string> kept;
  for (const std::string& coding : Split(encoding, ',')) {
    if (Trim(coding) != "aws-chunked") {
      kept.emplace_back(Trim(coding));
    }
  }
  return Join(kept, ",");
}

/// What is said of encryption is remembered and told again; nothing is encrypted.
std::optional<Error> ReadEncryption(const Request& request, Attributes& attributes) {
  constexpr std::string_view kKinds[] = {"AES256", "aws:kms", "aws:kms:dsse"};
  const auto kind = request.Header(kEncryptionHeader);
  const auto key_id = request.Header(kEncryptionKeyHeader);
  if (kind && std::ranges::find(kKinds, *kind) == std::end(kKinds)) {
    return Error{"InvalidArgument",
                 "The encryption method specified is not supported",
                 0,
                 {{"ArgumentName", kEncryptionHeader}, {"ArgumentValue", std::string(*kind)}}};
  }
  if (key_id && !kind.value_or("").starts_with("aws:kms")) {
    return Error{"InvalidArgument",
                 "Server Side Encryption with AWS KMS managed key requires HTTP header x-amz-server-side-encryption : "
                 "aws:kms"};
  }
  for (const char* name : {kEncryptionHeader, kEncryptionKeyHeader}) {
    if (const auto value = request.Header(name)) {
      attributes.system[name] = *value;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string Request::resource() const {
  return bucket.empty() ? "/" : '/' + bucket + (key.empty() ? "" : '/' + key);
}

std::string BucketOfHost(std::string_view host, const std::vector<std::string>& domains) {
  const std::string name = Lower(host.substr(0, host.rfind(':')));
  std::string_view longest;
  for (const std::string& domain : domains) {
    if (name == domain) {
      return "";
    }
    if (name.ends_with('.' + domain) && domain.size() > longest.size()) {
      longest = domain;
    }
  }
  return longest.empty() ? "" : name.substr(0, name.size() - longest.size() - 1);
}

std::optional<Error> ReadAddress(const std::vector<std::string>& domains, Request& request) {
  std::optional<Query> query = Query::Parse(request.head.query());
  std::optional<std::string> path = http::PercentDecode(request.head.path());
  if (!query || !path) {
    return Error{"InvalidURI"};
  }
  request.query = std::move(*query);
  request.bucket = BucketOfHost(request.HeaderText("Host"), domains);
  std::string_view rest = std::string_view(*path).substr(1);
  if (request.bucket.empty()) {
    request.bucket = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(request.bucket.size() + 1, rest.size()));
  }
  request.key = rest;
  if (request.key.size() > kMaxKeyBytes) {
    return Error{"KeyTooLongError",
                 {},
                 0,
                 {{"Size", std::to_string(request.key.size())}, {"MaxSizeAllowed", std::to_string(kMaxKeyBytes)}}};
  }
  return std::nullopt;
}

bool IsBucketName(std::string_view name) {
  const auto is_legal = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-'; };
  const auto is_digit_or_dot = [](char c) { return (c >= '0' && c <= '9') || c == '.'; };
  const auto is_edge = [&](char c) { return is_legal(c) && c != '.' && c != '-'; };
  return name.size() >= 3 && name.size() <= 63 && std::ranges::all_of(name, is_legal) && is_edge(name.front()) &&
         is_edge(name.back()) && name.find("..") == std::string_view::npos &&
         !(std::ranges::all_of(name, is_digit_or_dot) && std::ranges::count(name, '.') == 3) &&
         std::ranges::find(kReservedNames, name) == std::end(kReservedNames);
}

std::optional<Error> ReadAttributes(const Request& request, Attributes& attributes) {
  attributes.content_type = request.Header("Content-Type").value_or("binary/octet-stream");
  for (const char* name : {"Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Expires"}) {
    const std::optional<std::string_view> value = request.Header(name);
    const std::string text = name == std::string_view("Content-Encoding") ? WithoutAwsChunked(value.value_or(""))
                                                                          : std::string(value.value_or(""));
    if (!text.empty()) {
      attributes.system[name] = text;
    }
  }
  size_t bytes = 0;
  for (const http::Header& header : request.head.headers.all()) {
    const std::string name = Lower(header.name);
    for (const std::string_view prefix : {"x-amz-meta-", "x-goog-meta-"}) {
      if (name.starts_with(prefix)) {
        attributes.metadata[name.substr(prefix.size())] = header.value;
        bytes += name.size() - prefix.size() + header.value.size();
      }
    }
  }
  if (bytes > kMaxMetadataBytes) {
    return Error{"MetadataTooLarge",
                 {},
                 0,
                 {{"Size", std::to_string(bytes)}, {"MaxSizeAllowed", std::to_string(kMaxMetadataBytes)}}};
  }
  for (const char* name : {"x-amz-storage-class", "x-goog-storage-class"}) {
    attributes.storage_class = request.Header(name).value_or(attributes.storage_class);
  }
  return ReadEncryption(request, attributes);
}

http::ServerResponse Answer(const Request& request, int status) {
  http::ServerResponse response;
  response.status = status;
  response.headers.Add("x-amz-request-id", request.notes->request_id);
  response.headers.Add("x-amz-id-2", "assay");
  response.headers.Add("Server", "assay");
  return response;
}

http::ServerResponse XmlAnswer(const Request& request, std::string document) {
  http::ServerResponse response = Answer(request);
  response.headers.Add("Content-Type", "application/xml");
  response.body.push_back(http::BodyPiece::Text(std::move(document)));
  return response;
}

http::ServerResponse ErrorAnswer(const Request& request, const Error& error) {
  return ErrorResponse(error, request.resource(), request.notes->request_id);
}

http::ServerResponse OutcomeAnswer(const Request& request, const StoreOutcome& outcome) {
  switch (outcome.code) {
    case StoreCode::kNoSuchBucket:
      return ErrorAnswer(request, {"NoSuchBucket", {}, 0, {{"BucketName", request.bucket}}});
    case StoreCode::kBucketExists:
      return ErrorAnswer(request, {"BucketAlreadyOwnedByYou", {}, 0, {{"BucketName", request.bucket}}});
    case StoreCode::kBucketNotEmpty:
      return ErrorAnswer(request, {"BucketNotEmpty", {}, 0, {{"BucketName", request.bucket}}});
    case StoreCode::kNoSuchKey:
      return ErrorAnswer(request, {"NoSuchKey", {}, 0, {{"Key", request.key}}});
    case StoreCode::kNoSuchUpload:
      return ErrorAnswer(request, {"NoSuchUpload", {}, 0, {{"UploadId", request.query.Get("uploadId")}}});
    case StoreCode::kConditionFailed:
      return ErrorAnswer(request, {"PreconditionFailed"});
    case StoreCode::kInvalidKey:
      return ErrorAnswer(request, {"InvalidURI"});
    case StoreCode::kOk:
    case StoreCode::kFailed:
      break;
  }
  return ErrorAnswer(request, {"InternalError", outcome.message});
}

std::string Quoted(std::string_view etag) {
  return '"' + std::string(etag) + '"';
}

}  // namespace assay::objectserver::s3
