// A request of the native OCI API once its address has been read, and the answers that all operations share.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "objectserver/context.h"
#include "objectserver/query.h"
#include "objectserver/record.h"

namespace assay::objectserver::oci {

struct Request {
  http::RequestHead head;
  Query query;
  std::string name_space;
  std::string bucket;
  std::string object;
  std::string secret;  ///< of the pre-authenticated request in whose name it comes; empty: signed, or nobody's
  Notes notes;
  bool body_signed = false;  ///< x-content-sha256 is covered by a signature that was believed

  std::string HeaderText(std::string_view name) const { return std::string(head.headers.Find(name).value_or("")); }
};
using RequestPointer = std::shared_ptr<Request>;

/// The only namespace of the server; any other is answered as one without buckets of ours.
inline constexpr std::string_view kNamespace = "assay";

http::ServerResponse Answer(const Request& request, int status = 200);
http::ServerResponse JsonAnswer(const Request& request, const nlohmann::json& body, int status = 200);
http::ServerResponse ErrorAnswer(int status, std::string_view code, std::string_view message, const Notes& notes);
/// Of an outcome that is not kOk.
http::ServerResponse OutcomeAnswer(const Request& request, const StoreOutcome& outcome);

/// That nothing is there (`absent`), or what has that etag ("*": anything). Null where neither is asked.
Condition ConditionOf(bool absent, std::string_view etag);
/// if-match, and if-none-match: * as the only form OCI takes. False for another.
bool ReadCondition(const Request& request, Condition& condition);
/// "x" of "opc-meta-X"; empty for other headers.
std::string MetadataName(std::string_view header);
/// Content type, the fields that come back, opc-meta-*.
Attributes ReadAttributes(const Request& request);

/// A text of a request's JSON; empty where there is none.
std::string TextOf(const nlohmann::json& details, const char* name);

/// Base64 of a digest; empty where it is not known.
std::string Base64Of(const Digests& digests, storage::ChecksumKind kind);

}  // namespace assay::objectserver::oci
