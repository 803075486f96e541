// S3's errors.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/server_response.h"

namespace assay::objectserver::s3 {

/// An error as S3 answers it. An empty message is replaced by the usual one of the code.
struct Error {
  std::string code;
  std::string message = {};
  int status = 0;                                                 ///< 0: the usual one of the code
  std::vector<std::pair<std::string, std::string>> details = {};  ///< further elements of the answer
};

/// The usual status of a code; 400 for one that is not known.
int StatusOf(std::string_view code);

/// "<Error><Code>...": the document alone.
std::string ErrorDocument(const Error& error, const std::string& resource, const std::string& request_id);
http::ServerResponse ErrorResponse(const Error& error, const std::string& resource, const std::string& request_id);

}  // namespace assay::objectserver::s3
