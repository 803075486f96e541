// Where credentials may be asked for, and how a request gets there.
#pragma once

#include "base/status.h"
#include "http/message.h"

namespace assay::storage {

enum class Reach {
  kLoopback,   ///< this machine: 127.0.0.0/8, ::1, localhost
  kMetadata,   ///< a service of this machine's provider: link-local addresses and those of EC2 and of GCE
  kElsewhere,  ///< anything else, names that resolve to one of the above included
};

/// By the text of the address alone: no name is resolved.
Reach ReachOf(const http::Url& url);

/// InvalidArgument, as the clause of an error, for plain http to elsewhere: whoever is on the way could read what is
/// sent and choose what comes back.
Status CheckCredentialAddress(const http::Url& url);

}  // namespace assay::storage
