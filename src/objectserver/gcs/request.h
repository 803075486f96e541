// A request of the JSON API once its address has been read, and the answers that all operations share.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "objectserver/context.h"
#include "objectserver/query.h"
#include "objectserver/record.h"

namespace assay::objectserver::gcs {

struct Request {
  http::RequestHead head;
  Query query;
  std::string bucket;
  std::string object;
  std::string destination_bucket;  ///< of rewrites
  std::string destination_object;
  Notes notes;

  std::string HeaderText(std::string_view name) const { return std::string(head.headers.Find(name).value_or("")); }
};
using RequestPointer = std::shared_ptr<Request>;

http::ServerResponse JsonAnswer(const nlohmann::json& body, int status = 200);
/// "reason" is Google's word: "notFound", "conditionNotMet", "invalid"...
http::ServerResponse ErrorAnswer(int status, std::string_view reason, std::string_view message);
/// Of an outcome that is not kOk.
http::ServerResponse OutcomeAnswer(const Request& request, const StoreOutcome& outcome);

/// The object resource as answers carry it.
nlohmann::json ObjectResource(const std::string& bucket, const ObjectRecord& object, const std::string& base_url);
/// "crc32c=...,md5=..." where known.
std::string HashHeader(const ObjectRecord& object);

/// What a JSON object resource says of attributes.
void ReadResource(const nlohmann::json& resource, Attributes& attributes);

/// ifGenerationMatch and its like for a write; null when there is none.
Condition WriteCondition(const Query& query);
/// 304 or 412 for a read whose preconditions do not hold; nothing when it goes on.
std::optional<http::ServerResponse> JudgeRead(const Query& query, const ObjectRecord& object);

}  // namespace assay::objectserver::gcs
