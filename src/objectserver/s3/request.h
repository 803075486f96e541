// An S3 request once its address and its headers have been read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/server_parser.h"
#include "objectserver/context.h"
#include "objectserver/query.h"
#include "objectserver/record.h"
#include "objectserver/s3/error.h"
#include "storage/auth/sigv4_verify.h"

namespace assay::objectserver::s3 {

struct Request {
  http::RequestHead head;
  Query query;
  std::string bucket;  ///< decoded; empty: the service itself
  std::string key;     ///< decoded; empty: the bucket itself
  Notes notes;
  storage::SigV4Identity identity;  ///< of signed requests where signatures are checked

  std::optional<std::string_view> Header(std::string_view name) const { return head.headers.Find(name); }
  std::string HeaderText(std::string_view name) const { return std::string(Header(name).value_or("")); }
  std::string resource() const;
};
using RequestPointer = std::shared_ptr<Request>;

/// "bucket" of host "bucket.localhost:9000" when "localhost" is one of `domains`; else empty.
std::string BucketOfHost(std::string_view host, const std::vector<std::string>& domains);

/// Reads bucket and key from the path, or from the host where that is below one of `domains`.
std::optional<Error> ReadAddress(const std::vector<std::string>& domains, Request& request);

/// Whether a bucket may have that name, beside the names that this server keeps for itself.
bool IsBucketName(std::string_view name);

/// Reads what a writer says of the new object: content type, fields that come back, metadata, storage class,
/// encryption.
std::optional<Error> ReadAttributes(const Request& request, Attributes& attributes);

/// An empty answer with request id.
http::ServerResponse Answer(const Request& request, int status = 200);
http::ServerResponse XmlAnswer(const Request& request, std::string document);
http::ServerResponse ErrorAnswer(const Request& request, const Error& error);
/// Of an outcome that is not kOk.
http::ServerResponse OutcomeAnswer(const Request& request, const StoreOutcome& outcome);

std::string Quoted(std::string_view etag);

}  // namespace assay::objectserver::s3
