#include "engine/train/connector_run/connector_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/files.h"
#include "base/text.h"
#include "engine/model/status_error.h"
#include "engine/train/connector_run/connector_data.h"
#include "engine/train/failure.h"
#include "engine/train/request_meter.h"
#include "engine/train/run.h"
#include "storage/bench/bench_memory.h"

namespace assay::engine {
namespace {

void remove_below(const std::string& uri) {
  for (const char* name : {"plain", "packed", "run", "again"}) {
    remove_all(open_place(uri + "/" + name + "/"));
  }
}

/// What a test has written, and removes also where a failure or a signal ends it.
class Leftovers {
 public:
  /// Below `uri`, and the folder, where it is not empty.
  Leftovers(std::string uri, std::string folder, TerminationWatcher& termination)
      : uri_(std::move(uri)), folder_(std::move(folder)), termination_(termination) {
    termination_.set_last_work([this] { remove(); });
  }
  Leftovers(const Leftovers&) = delete;
  Leftovers& operator=(const Leftovers&) = delete;
  ~Leftovers() {
    termination_.set_last_work({});
    if (!are_gone_) {
      remove();
    }
  }
  void are_gone() { are_gone_ = true; }

 private:
  /// As far as it can be: why the test ended is what is told.
  void remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
    try {
      remove_below(uri_);
    } catch (const std::exception& error) {
      fmt::print(stderr, "assay-worker: what the connector test wrote below {} stays there: {}\n", uri_, error.what());
    }
  }

  const std::string uri_;
  const std::string folder_;
  TerminationWatcher& termination_;
  bool are_gone_ = false;
};

/// A fine-tune ended otherwise than as done: the whole test ends so.
class FineTuneEnded : public std::exception {
 public:
  explicit FineTuneEnded(job::Ended ended) : ended_(std::move(ended)) {}
  const job::Ended& ended() const { return ended_; }

 private:
  job::Ended ended_;
};

class ConnectorRun {
 public:
  ConnectorRun(const job::ConnectorPlan& plan, EventWriter& events, TerminationWatcher& termination)
      : plan_(plan), events_(events), termination_(termination) {}

  job::Ended execute() {
    job::Ended ended;
    try {
      carry_out();
      ended = fine_tuned_;
    } catch (const ControllerGone&) {
      throw;
    } catch (const FineTuneEnded& fine_tune) {
      ended = fine_tune.ended();
      ended.reason = fmt::format("{}: {}", where_, ended.reason);
    } catch (const std::exception&) {
      ended = describe_failure(std::current_exception(), where_);
    }
    return ended;
  }

 private:
  void carry_out() {
    throw_if_error(job::CheckConnectorPlan(plan_));
    if (plan_.work_dir.empty()) {
      temporary_.emplace(value_or_throw(TemporaryDirectory::Create("assay-connector")));
    }
    // What an earlier test left there that was killed.
    remove_written();
    Leftovers leftovers(plan_.uri, temporary_ ? temporary_->path() : "", termination_);
    optimise("optimise", "plain", "");
    optimise("optimise_compressed", "packed", plan_.compression);
    count("count");
    count("size");
    stream("stream", "plain");
    stream("stream_compressed", "packed");
    fine_tune("fine_tune", "run", false);
    resume();
    fine_tune_locally();
    fine_tune("fine_tune_again", "again", false);
    where_ = "removing what was written";
    remove_written();
    leftovers.are_gone();
  }

  std::string work_dir() const { return temporary_ ? temporary_->path() : plan_.work_dir; }
  bool copies_first() const { return plan_.connector == "assay-copy"; }
  shards::DatasetPlace place(const std::string& name) const { return open_place(plan_.uri + "/" + name + "/", meter_); }
  /// Of a step of its own: each begins cold.
  std::string cache_of(const std::string& step) const {
    return plan_.cache_bytes == 0 ? "" : work_dir() + "/cache-" + step;
  }

  /// Ends a step that `work` makes and tells of.
  template <typename Work>
  void measure(const char* step, const Work& work) {
    where_ = step;
    const RequestTotals before = meter_->totals();
    const double cpu_seconds = storage::ProcessCpuSeconds();
    const double begin = MonotonicSeconds();
    job::ConnectorStep told{.step = step};
    work(told);
    const RequestTotals made = meter_->totals().since(before);
    told.seconds = MonotonicSeconds() - begin;
    told.cpu_seconds = storage::ProcessCpuSeconds() - cpu_seconds;
    told.read_requests = made.reads;
    told.write_requests = made.writes;
    told.retries = made.retries;
    told.received_bytes = made.received_bytes;
    told.sent_bytes = made.sent_bytes;
    events_.write(told);
  }

  void optimise(const char* step, const char* name, const std::string& compression) {
    measure(step, [&](job::ConnectorStep& told) {
      const shards::ConvertReport report = convert_rows(plan_, place(name), compression);
      told.samples = report.rows;
      told.bytes = report.input_bytes;
    });
  }

  void count(const char* step) {
    measure(step, [&](job::ConnectorStep& told) {
      for (const char* name : {"plain", "packed"}) {
        const Counted counted = count_objects(place(name));
        told.objects += counted.objects;
        told.bytes += counted.bytes;
      }
    });
  }

  void stream(const char* step, const char* name) {
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
  std::string copy(job::ConnectorStep& told, const std::string& name) const {
    const std::string folder = work_dir() + "/copy-" + told.step;
    const int64_t before = meter_->totals().received_bytes;
    copy_to_folder(place(name), folder);
    told.copied_bytes = meter_->totals().received_bytes - before;
    return folder;
  }

  void fine_tune(const char* step, const std::string& checkpoints, bool resumes) {
    measure(step, [&](job::ConnectorStep& told) {
      const std::string data = copies_first() ? copy(told, "plain") : plan_.uri + "/plain";
      train(told, data, plan_.uri + "/" + checkpoints, cache_of(step), resumes);
    });
  }

  /// As if the run had been lost before its last checkpoint stood.
  void resume() {
    where_ = "removing the last checkpoint";
    remove_all(open_place(fmt::format("{}/run/step-{}/", plan_.uri, plan_.max_steps)));
    fine_tune("resume", "run", true);
  }

  void fine_tune_locally() {
    where_ = "making the local data set";
    const std::string data = work_dir() + "/local/plain";
    convert_rows(plan_, open_place(data), "");
    measure("fine_tune_local",
            [&](job::ConnectorStep& told) { train(told, data, work_dir() + "/local/run", "", false); });
  }

  void train(job::ConnectorStep& told, const std::string& data, const std::string& checkpoints,
             const std::string& cache, bool resumes) {
    job::TunePlan tune = plan_;
    tune.data_uri = data + "/";
    tune.data_fingerprint = value_or_throw(shards::OpenDataset(open_place(data, meter_))).fingerprint();
    tune.data_cache = cache;
    tune.data_cache_bytes = plan_.cache_bytes;
    tune.data_threads = plan_.workers;
    tune.output_dir = checkpoints;
    tune.resume = resumes;
    job::Ended ended = run_plan(tune, events_, termination_, MonotonicSeconds(), meter_);
    ended.peak_tensor_bytes = std::max(ended.peak_tensor_bytes, fine_tuned_.peak_tensor_bytes);
    if (ended.kind != job::EndKind::kDone) {
      throw FineTuneEnded(std::move(ended));
    }
    fine_tuned_ = std::move(ended);
    told.samples = tune.max_steps * tune.batch_size;
  }

  void remove_written() {
    const auto lock = termination_.defer();
    remove_below(plan_.uri);
  }

  const job::ConnectorPlan& plan_;
  EventWriter& events_;
  TerminationWatcher& termination_;
  const std::shared_ptr<RequestMeter> meter_ = std::make_shared<RequestMeter>();
  std::optional<TemporaryDirectory> temporary_;
  job::Ended fine_tuned_;
  std::string where_ = "start";
};

}  // namespace

job::Ended run_connector_plan(const job::ConnectorPlan& plan, EventWriter& events, TerminationWatcher& termination) {
  return ConnectorRun(plan, events, termination).execute();
}

}  // namespace assay::engine
