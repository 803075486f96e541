// Asks hubs for what a repository holds and for its files: the HTTP interface of huggingface.co, which mirrors have
// too.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "http/client.h"
#include "hub/listing.h"

namespace assay::hub {

/// Who is asked, and as whom.
struct HubPlace {
  std::vector<std::string> endpoints;  ///< asked in this order until one has it: "https://huggingface.co"
  std::string token;                   ///< goes to the first endpoint alone; empty: none
};

/// The endpoints of `endpoints`, else $HF_ENDPOINT, else https://huggingface.co; the token of $HF_TOKEN, else of the
/// file $HF_TOKEN_PATH, else of $HF_HOME/token. kInvalidArgument for an address that is none.
Result<HubPlace> PlaceFromEnvironment(std::vector<std::string> endpoints);

/// Where the next bytes of a file go, and what of it is there.
class ResumableSink : public http::BodySink {
 public:
  virtual int64_t received() const = 0;
};

/// Any thread. Calls end with kAborted soon after InterruptRequested().
class HubClient {
 public:
  explicit HubClient(HubPlace place, http::ClientOptions options = {});
  ~HubClient();

  /// kNotFound, kPermissionDenied and kIo name each endpoint that was asked and what came back.
  Result<HubListing> List(const std::string& repository, const std::string& revision);
  /// Brings what `sink` lacks of `file`. What broke off is gone on with, on the next endpoint where one does not
  /// answer; it is given up when several attempts brought nothing.
  Status Receive(const std::string& repository, const std::string& commit, const HubFile& file, ResumableSink& sink);

 private:
  Result<http::Response> Get(const std::string& endpoint, const std::string& path, http::BodySink* sink, int64_t from);
  Result<HubListing> ListFrom(const std::string& endpoint, const std::string& repository, const std::string& revision);
  Status ReceiveFrom(const std::string& endpoint, const std::string& path, const HubFile& file, ResumableSink& sink);

  HubPlace place_;
  http::Client client_;
};

}  // namespace assay::hub
