// What a connector test tells of its steps; event.h has the events of the fine-tunes within them.
#pragma once

#include <cstdint>
#include <string>

namespace assay::job {

/// A step of a ConnectorPlan has ended: what came since the one before is of it. Numbers below 0 are not known, which
/// libraries of others may leave so; those that a step does not have are 0.
struct ConnectorStep {
  std::string step;
  double start_seconds = 0;   ///< of a step with a process of its own, from when that was started until the step began
  double seconds = 0;         ///< from there on
  double cpu_seconds = 0;     ///< of the process and those that it started
  int64_t samples = 0;        ///< made, streamed, or trained on
  int64_t objects = 0;        ///< that were counted
  int64_t bytes = 0;          ///< of the rows that were converted; of the objects that were counted; of values streamed
  int64_t digest = 0;         ///< of the rows that were streamed: row_digest.h
  double first_seconds = 0;   ///< until the first batch of a stream
  double wait_seconds = 0;    ///< that samples were asked for and were not there
  int64_t copied_bytes = 0;   ///< received for a copy of the data set that was made first
  int64_t read_requests = 0;  ///< that a store took, as it bills them: GET and HEAD
  int64_t write_requests = 0;  ///< PUT, POST, COPY and LIST
  int64_t retries = 0;
  int64_t received_bytes = 0;
  int64_t sent_bytes = 0;
};

}  // namespace assay::job
