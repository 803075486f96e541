#include "engine/train/connector_run/connector_steps.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "engine/model/status_error.h"
#include "engine/train/connector_run/connector_data.h"
#include "engine/train/run.h"
#include "storage/bench/bench_memory.h"

namespace assay::engine {

/// Ends a step that `work` makes and tells of.
template <typename Work>
void ConnectorSteps::measure(const std::string& step, const Work& work) {
  const RequestTotals before = meter_->totals();
  const double cpu_seconds = storage::ProcessCpuSeconds();
  const double begin = MonotonicSeconds();
  job::ConnectorStep told{.step = step};
  work(told);
  const RequestTotals made = meter_->totals().since(before);
  told.start_seconds = plan_.step.empty() ? 0 : begin - plan_.step_began_seconds;
  told.seconds = MonotonicSeconds() - begin;
  told.cpu_seconds = storage::ProcessCpuSeconds() - cpu_seconds;
  told.read_requests = made.reads;
  told.write_requests = made.writes;
  told.retries = made.retries;
  told.received_bytes = made.received_bytes;
  told.sent_bytes = made.sent_bytes;
  events_.write(told);
}

shards::DatasetPlace ConnectorSteps::place_at(const std::string& uri) const {
  shards::DatasetPlace place = open_place(uri, meter_);
  place.cancel = cancel_;
  return place;
}

/// Of a step of its own: each begins cold.
std::string ConnectorSteps::cache_of(const std::string& step) const {
  return plan_.cache_bytes == 0 ? "" : work_dir_ + "/cache-" + step;
}

void ConnectorSteps::optimise(const char* step, const char* name, const std::string& compression) {
  measure(step, [&](job::ConnectorStep& told) {
    const shards::ConvertReport report = convert_rows(plan_, place(name), compression);
    told.samples = report.rows;
    told.bytes = report.input_bytes;
  });
}

void ConnectorSteps::make_local_data() {
  convert_rows(plan_, place_at(local_data()), "");
}

void ConnectorSteps::count(const char* step) {
  measure(step, [&](job::ConnectorStep& told) {
    for (const char* name : {"plain", "packed"}) {
      const Counted counted = count_objects(place(name));
      told.objects += counted.objects;
      told.bytes += counted.bytes;
    }
  });
}

job::Ended ConnectorSteps::read(const std::string& step) {
  if (step == "stream") {
    stream(step, "plain");
  } else if (step == "stream_compressed") {
    stream(step, "packed");
  } else if (step == "fine_tune_local") {
    measure(step, [&](job::ConnectorStep& told) { train(told, local_data(), work_dir_ + "/local/run", ""); });
  } else {
    fine_tune(step, step == "fine_tune_again" ? "again" : "run");
  }
  return trained_;
}

void ConnectorSteps::stream(const std::string& step, const char* name) {
  measure(step, [&](job::ConnectorStep& told) {
    const double begin = MonotonicSeconds();
    const shards::DatasetPlace data = copies_first() ? open_place(copy(told, name)) : place(name);
    const double copied = MonotonicSeconds() - begin;
    const Streamed streamed = stream_all(plan_, data, cache_of(step));
    told.samples = streamed.samples;
    told.bytes = streamed.bytes;
    told.digest = streamed.digest;
    told.first_seconds = copied + streamed.first_seconds;
    told.wait_seconds = copied + streamed.wait_seconds;
  });
}

/// The folder of a copy of a data set, made for the step that `told` is of.
std::string ConnectorSteps::copy(job::ConnectorStep& told, const std::string& name) const {
  const std::string folder = work_dir_ + "/copy-" + told.step;
  const int64_t before = meter_->totals().received_bytes;
  copy_to_folder(place(name), folder);
  told.copied_bytes = meter_->totals().received_bytes - before;
  return folder;
}

void ConnectorSteps::fine_tune(const std::string& step, const std::string& checkpoints) {
  measure(step, [&](job::ConnectorStep& told) {
    const std::string data = copies_first() ? copy(told, "plain") : plan_.uri + "/plain";
    train(told, data, plan_.uri + "/" + checkpoints, cache_of(step));
  });
}

void ConnectorSteps::train(job::ConnectorStep& told, const std::string& data, const std::string& checkpoints,
                           const std::string& cache) {
  job::TunePlan tune = plan_;
  tune.data_uri = data + "/";
  tune.data_fingerprint = value_or_throw(shards::OpenDataset(open_place(data, meter_))).fingerprint();
  tune.data_cache = cache;
  tune.data_cache_bytes = plan_.cache_bytes;
  tune.data_threads = plan_.workers;
  tune.output_dir = checkpoints;
  tune.resume = told.step == "resume";
  trained_ = run_plan(tune, events_, termination_, MonotonicSeconds(), meter_);
  if (trained_.kind != job::EndKind::kDone) {
    trained_.reason = fmt::format("{}: {}", told.step, trained_.reason);
    throw StepEnded(trained_);
  }
  told.samples = tune.max_steps * tune.batch_size;
}

}  // namespace assay::engine
