// Requests to the services that hand out credentials.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "http/message.h"
#include "storage/auth/environment.h"

namespace assay::storage {

using FormFields = std::vector<std::pair<std::string, std::string>>;

/// application/x-www-form-urlencoded
std::string EncodeForm(const FormFields& fields);

/// The answer's body where its status is 2xx. An error names `what` ("the token of service account x"), the host, the
/// status and the service's own error code, never the rest of a body.
Result<std::string> FetchText(const Environment& environment, const http::Request& request, std::string_view what);
/// Likewise, an object of JSON.
Result<nlohmann::json> FetchJson(const Environment& environment, const http::Request& request, std::string_view what);
/// A POST of a form that is answered in JSON.
Result<nlohmann::json> PostForm(const Environment& environment, const std::string& url, const FormFields& fields,
                                std::string_view what);

/// A member of an answer that must be a text; an error names it and `what`.
Result<std::string> RequiredText(const nlohmann::json& json, const char* name, std::string_view what);

}  // namespace assay::storage
