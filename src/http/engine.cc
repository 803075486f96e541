#include "http/engine.h"

#include "base/text.h"

namespace assay::http {

Shared::Shared(const ClientOptions& options)
    : options(options), bucket(options.bandwidth_bytes_per_s, MonotonicSeconds()) {}

Outcome CancelledOutcome() {
  Outcome outcome;
  outcome.error = TransportError::kCancelled;
  outcome.detail = "the request was given up";
  return outcome;
}

}  // namespace assay::http
