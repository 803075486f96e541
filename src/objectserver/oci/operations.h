// Operations of the native OCI API. Each makes the answer of a request whose address is read and whose signature is
// believed.
#pragma once

#include <memory>
#include <string_view>

#include "objectserver/context.h"
#include "objectserver/oci/request.h"

namespace assay::objectserver::oci {

// buckets.cc
http::ServerResponse GetNamespace(const Context& context, const Request& request, std::string_view body);
http::ServerResponse ListBuckets(const Context& context, const Request& request, std::string_view body);
http::ServerResponse CreateBucket(const Context& context, const Request& request, std::string_view body);
http::ServerResponse GetBucket(const Context& context, const Request& request, std::string_view body);
http::ServerResponse DeleteBucket(const Context& context, const Request& request, std::string_view body);
http::ServerResponse ListObjects(const Context& context, const Request& request, std::string_view body);

// objects.cc
std::unique_ptr<http::Exchange> PutObject(const Context& context, const RequestPointer& request);
http::ServerResponse GetObject(const Context& context, const Request& request, std::string_view body);
http::ServerResponse DeleteObject(const Context& context, const Request& request, std::string_view body);
http::ServerResponse CopyObject(const Context& context, const Request& request, std::string_view body);
/// Copies are done when they are answered: their work requests are always complete.
http::ServerResponse GetWorkRequest(const Context& context, const Request& request, std::string_view body);

// preauthenticated.cc
http::ServerResponse CreatePreauthenticatedRequest(const Context& context, const Request& request,
                                                   std::string_view body);
http::ServerResponse ListPreauthenticatedRequests(const Context& context, const Request& request,
                                                  std::string_view body);
/// The id stands where other requests have an object.
http::ServerResponse DeletePreauthenticatedRequest(const Context& context, const Request& request,
                                                   std::string_view body);

// multipart.cc
http::ServerResponse CreateUpload(const Context& context, const Request& request, std::string_view body);
http::ServerResponse ListUploads(const Context& context, const Request& request, std::string_view body);
std::unique_ptr<http::Exchange> UploadPart(const Context& context, const RequestPointer& request);
http::ServerResponse ListParts(const Context& context, const Request& request, std::string_view body);
http::ServerResponse CommitUpload(const Context& context, const Request& request, std::string_view body);
http::ServerResponse AbortUpload(const Context& context, const Request& request, std::string_view body);

/// "opc-multipart-md5" of an object made of parts: a text of that form. Its parts' MD5 need not be known.
std::string MultipartMd5(const ObjectRecord& object);

/// What the body of an object or a part must be, and the exchange that receives it. `done` gets content that is so.
using ContentDone = std::function<http::ServerResponse(Blob blob, std::string etag, Digests digests)>;
std::unique_ptr<http::Exchange> ReceiveContent(const Context& context, const RequestPointer& request, ContentDone done);

}  // namespace assay::objectserver::oci
