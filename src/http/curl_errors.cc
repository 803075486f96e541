#include <curl/curl.h>

#include "http/client.h"
#include "http/easy_transfer.h"

namespace assay::http {
namespace {

struct ErrorRow {
  CURLcode code;
  TransportError error;
};

constexpr ErrorRow kErrors[] = {
    {CURLE_OK, TransportError::kNone},
    {CURLE_COULDNT_RESOLVE_HOST, TransportError::kResolve},
    {CURLE_COULDNT_RESOLVE_PROXY, TransportError::kResolve},
    {CURLE_COULDNT_CONNECT, TransportError::kConnect},
    {CURLE_SSL_CONNECT_ERROR, TransportError::kTls},
    {CURLE_PEER_FAILED_VERIFICATION, TransportError::kTls},
    {CURLE_SSL_CERTPROBLEM, TransportError::kTls},
    {CURLE_SSL_CACERT_BADFILE, TransportError::kTls},
    {CURLE_SSL_CIPHER, TransportError::kTls},
    {CURLE_SSL_ISSUER_ERROR, TransportError::kTls},
    {CURLE_SEND_ERROR, TransportError::kReset},
    {CURLE_RECV_ERROR, TransportError::kReset},
    {CURLE_GOT_NOTHING, TransportError::kReset},
    {CURLE_PARTIAL_FILE, TransportError::kTruncated},
    {CURLE_WRITE_ERROR, TransportError::kRejected},
    {CURLE_ABORTED_BY_CALLBACK, TransportError::kRejected},
};

struct NameRow {
  TransportError error;
  std::string_view name;
};

constexpr NameRow kNames[] = {
    {TransportError::kNone, "none"},
    {TransportError::kUnsendable, "not sent"},
    {TransportError::kResolve, "unknown host"},
    {TransportError::kConnect, "connection refused"},
    {TransportError::kConnectTimeout, "connect timeout"},
    {TransportError::kProxy, "unusable proxy"},
    {TransportError::kTls, "TLS"},
    {TransportError::kReset, "connection reset"},
    {TransportError::kTruncated, "truncated"},
    {TransportError::kStall, "stall"},
    {TransportError::kTimeout, "timeout"},
    {TransportError::kProtocol, "protocol"},
    {TransportError::kTooLarge, "too large an answer"},
    {TransportError::kRejected, "rejected"},
    {TransportError::kCancelled, "cancelled"},
};

}  // namespace

TransportError ClassifyCurlError(CURLcode code, bool connected, std::string_view text) {
  if (code == CURLE_OPERATION_TIMEDOUT) {
    if (!connected) {
      return TransportError::kConnectTimeout;
    }
    // libcurl has one code for both; its low-speed check is the only one with these words.
    return text.starts_with("Operation too slow") ? TransportError::kStall : TransportError::kTimeout;
  }
  // An address that no attempt could use has the codes of one that does not answer.
  if (text.starts_with("Unsupported proxy")) {
    return TransportError::kProxy;
  }
  for (const ErrorRow& row : kErrors) {
    if (row.code == code) {
      return row.error;
    }
  }
  return TransportError::kProtocol;
}

std::string_view NameOf(TransportError error) {
  for (const NameRow& row : kNames) {
    if (row.error == error) {
      return row.name;
    }
  }
  return "unknown";
}

}  // namespace assay::http
