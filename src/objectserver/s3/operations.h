// S3's operations. Each makes the answer of a request whose address is read and whose signature is believed.
#pragma once

#include <memory>
#include <string_view>

#include "http/server.h"
#include "objectserver/context.h"
#include "objectserver/s3/request.h"

namespace assay::objectserver::s3 {

// bucket.cc
http::ServerResponse ListBuckets(const Context& context, const Request& request, std::string_view body);
http::ServerResponse CreateBucket(const Context& context, const Request& request, std::string_view body);
http::ServerResponse HeadBucket(const Context& context, const Request& request, std::string_view body);
http::ServerResponse DeleteBucket(const Context& context, const Request& request, std::string_view body);
http::ServerResponse GetBucketLocation(const Context& context, const Request& request, std::string_view body);
http::ServerResponse GetBucketVersioning(const Context& context, const Request& request, std::string_view body);

// list.cc
http::ServerResponse ListObjects(const Context& context, const Request& request, std::string_view body);
http::ServerResponse ListObjectsV2(const Context& context, const Request& request, std::string_view body);

// object_read.cc
http::ServerResponse GetObject(const Context& context, const Request& request, std::string_view body);
http::ServerResponse GetObjectAttributes(const Context& context, const Request& request, std::string_view body);

// object_write.cc
std::unique_ptr<http::Exchange> PutObject(const Context& context, const RequestPointer& request);
http::ServerResponse DeleteObject(const Context& context, const Request& request, std::string_view body);
http::ServerResponse DeleteObjects(const Context& context, const Request& request, std::string_view body);

// copy.cc
http::ServerResponse CopyObject(const Context& context, const Request& request, std::string_view body);
http::ServerResponse UploadPartCopy(const Context& context, const Request& request, std::string_view body);

// compose.cc
http::ServerResponse ComposeObject(const Context& context, const Request& request, std::string_view body);

// multipart.cc
http::ServerResponse CreateMultipartUpload(const Context& context, const Request& request, std::string_view body);
std::unique_ptr<http::Exchange> UploadPart(const Context& context, const RequestPointer& request);
http::ServerResponse AbortMultipartUpload(const Context& context, const Request& request, std::string_view body);
http::ServerResponse ListParts(const Context& context, const Request& request, std::string_view body);
http::ServerResponse ListMultipartUploads(const Context& context, const Request& request, std::string_view body);

// complete.cc
http::ServerResponse CompleteMultipartUpload(const Context& context, const Request& request, std::string_view body);

}  // namespace assay::objectserver::s3
