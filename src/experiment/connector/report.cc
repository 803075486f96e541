#include "experiment/connector/connector.h"

namespace assay::experiment {
namespace {

constexpr double kMega = 1e-6;

Breakdown SixSteps() {
  return {
      "connector-steps",
      "The six steps of the connector test",
      "Seconds of each, in the order in which they were made, from when the libraries were loaded; the fine-tune of "
      "step 6 four times: streamed, gone on with as if its last checkpoint had never stood, with data and checkpoints "
      "in folders, and streamed again.",
      "optimise_seconds",
      {{"1 optimise", "s", "optimise_seconds"},
       {"2 compressed", "s", "optimise_compressed_seconds"},
       {"3 count", "s", "count_seconds"},
       {"4 size", "s", "size_seconds"},
       {"5 stream", "s", "stream_seconds"},
       {"of compressed", "s", "stream_compressed_seconds"},
       {"6 fine-tune", "s", "fine_tune_seconds"},
       {"resumed", "s", "resume_seconds"},
       {"local", "s", "fine_tune_local_seconds"},
       {"again", "s", "fine_tune_again_seconds"},
       {"objects", "", "objects"},
       {"size", "MB", "total_bytes", kMega},
       {"CPU of 5", "%", "stream_cpu_percent"},
       {"CPU of 6", "%", "fine_tune_cpu_percent"},
       {"memory of 6", "%", "fine_tune_memory_percent"},
       {"GPU of 6", "%", "fine_tune_gpu_percent"},
       {"GPU memory of 6", "%", "fine_tune_gpu_memory_percent"}}};
}

Breakdown WhatTheBucketCosts() {
  return {
      "connector-cost",
      "What the bucket costs",
      "The fine-tune streamed from the bucket and with data and checkpoints in folders, on the same rows: by how much "
      "a step is longer, waiting for checkpoints included, with the ends of its interval; what the steps waited for "
      "data; from the start of the process until its libraries were loaded, and until the first step had ended, at "
      "first and after a resume; checkpoints; requests, and what they cost by the price file.",
      "bucket_cost_percent",
      {{"streamed", "tokens/s", "real_tokens_per_second"},
       {"local", "tokens/s", "local_real_tokens_per_second"},
       {"without checkpoints", "tokens/s", "real_tokens_per_second_without_checkpoints"},
       {"without stalls", "tokens/s", "real_tokens_per_second_without_stalls"},
       {"longer", "%", "bucket_cost_percent"},
       {"from", "%", "bucket_cost_percent_ci_low"},
       {"to", "%", "bucket_cost_percent_ci_high"},
       {"waited", "%", "stall_fraction", 100},
       {"process started", "s", "fine_tune_start_seconds"},
       {"first step", "s", "time_to_first_step"},
       {"after a resume", "s", "resumed_time_to_first_step"},
       {"checkpoint's stall", "s", "checkpoint_stall_seconds"},
       {"until it stood", "s", "checkpoint_remote_seconds"},
       {"reads", "", "read_requests"},
       {"writes", "", "write_requests"},
       {"retries", "", "retries"},
       {"requests", "USD", "requests_usd"}}};
}

Breakdown DataAlone() {
  return {"connector-data",
          "The data alone",
          "Rows into shards, and a shuffled pass over them, with nothing kept of it before; from the start of its "
          "process until its libraries were loaded, and until the first batch was there. Where the place is a folder, "
          "the machine's page cache has it.",
          "stream_samples_per_second",
          {{"converted", "MB/s", "optimise_mb_per_s"},
           {"compressed", "MB/s", "optimise_compressed_mb_per_s"},
           {"streamed", "samples/s", "stream_samples_per_second"},
           {"streamed", "MB/s", "stream_mb_per_s"},
           {"compressed", "MB/s", "stream_compressed_mb_per_s"},
           {"process started", "s", "stream_start_seconds"},
           {"first batch", "s", "first_batch_seconds"},
           {"waited", "%", "stream_stall_fraction", 100},
           {"received / used", "", "read_amplification"}}};
}

}  // namespace

const ReportSections& ConnectorReport() {
  static const ReportSections sections = {.loss_of = "tokens",
                                          .breakdowns = {SixSteps(), WhatTheBucketCosts(), DataAlone()},
                                          .published = ConnectorCriteria()};
  return sections;
}

}  // namespace assay::experiment
