// Operations of the JSON API. Each makes the answer of a request whose address is read and whose token is known.
#pragma once

#include <memory>
#include <string_view>

#include "objectserver/context.h"
#include "objectserver/gcs/request.h"

namespace assay::objectserver::gcs {

// buckets.cc
http::ServerResponse ListBuckets(const Context& context, const Request& request, std::string_view body);
http::ServerResponse CreateBucket(const Context& context, const Request& request, std::string_view body);
http::ServerResponse GetBucket(const Context& context, const Request& request, std::string_view body);
http::ServerResponse DeleteBucket(const Context& context, const Request& request, std::string_view body);
http::ServerResponse IssueToken(const Context& context, const Request& request, std::string_view body);

// objects.cc
http::ServerResponse ListObjects(const Context& context, const Request& request, std::string_view body);
http::ServerResponse GetObject(const Context& context, const Request& request, std::string_view body);
http::ServerResponse PatchObject(const Context& context, const Request& request, std::string_view body);
http::ServerResponse DeleteObject(const Context& context, const Request& request, std::string_view body);

// compose.cc
http::ServerResponse Compose(const Context& context, const Request& request, std::string_view body);
http::ServerResponse Rewrite(const Context& context, const Request& request, std::string_view body);
http::ServerResponse Copy(const Context& context, const Request& request, std::string_view body);

// upload.cc
std::unique_ptr<http::Exchange> UploadMedia(const Context& context, const RequestPointer& request);
http::ServerResponse UploadMultipart(const Context& context, const Request& request, std::string_view body);

// resumable.cc
http::ServerResponse BeginResumable(const Context& context, const Request& request, std::string_view body);
std::unique_ptr<http::Exchange> ContinueResumable(const Context& context, const RequestPointer& request);
http::ServerResponse AbortResumable(const Context& context, const Request& request, std::string_view body);

}  // namespace assay::objectserver::gcs
