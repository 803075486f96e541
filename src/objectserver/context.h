// What a dialect is given and what it gives back.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "http/server.h"
#include "objectserver/credentials.h"
#include "objectserver/options.h"
#include "objectserver/store.h"

namespace assay::objectserver {

class Model;
class Tokens;
namespace oci {
class PreauthenticatedRequests;
}

/// What all dialects of a server share. Constant after the start; the store synchronises itself.
struct Context {
  const ServeOptions* options = nullptr;
  const Credentials* credentials = nullptr;
  Store* store = nullptr;
  Tokens* tokens = nullptr;
  oci::PreauthenticatedRequests* preauthenticated = nullptr;
  Model* model = nullptr;  ///< null: nothing is modelled
};

/// What is known of a request beside what it says. Made before it is routed, read while it is answered.
struct RequestNotes {
  std::string request_id;  ///< 16 hexadecimal digits
  /// The list that answers it does not show what was created within the last so many seconds; 0: it shows everything.
  double stale_list_seconds = 0;
  std::string asked;       ///< what the request names: bucket, key, range, part
  std::string page_token;  ///< where a listing is to go on
  std::string_view lie{};  ///< that was told in the answer
};
using Notes = std::shared_ptr<RequestNotes>;

/// A request that a dialect has understood, before it is carried out.
struct Routed {
  std::string operation = "Unknown";  ///< the dialect's own name: "GetObject"
  bool write = false;                 ///< counts against the limit of writes, not of reads
  std::string bucket;
  std::string key;
  std::unique_ptr<http::Exchange> exchange;
};

/// Refusals that are not a request's own fault.
enum class Refusal { kSlowDown, kInternalError, kExpiredToken, kPreconditionFailed };

/// One way to talk to the store. Thread-safe.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual Routed Route(http::RequestHead head, const Notes& notes) = 0;
  /// The dialect's own form of an error with that status (0: the refusal's usual one).
  virtual http::ServerResponse Refuse(Refusal refusal, int status, const Notes& notes) = 0;
  /// An error inside a response of status 200, as answers that were begun too early carry it.
  virtual http::ServerResponse RefuseInside(const Notes& notes) = 0;
};

}  // namespace assay::objectserver
