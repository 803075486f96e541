#include "engine/train/checkpoint_run/checkpoint_run.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <torch/version.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "base/text.h"
#include "engine/checkpoint/run_folder.h"
#include "engine/kernels/cpu/cpu_kernels.h"
#include "engine/model/status_error.h"
#include "engine/train/checkpoint_run/benchmark_state.h"
#include "engine/train/checkpoint_run/modelled_ranks.h"
#include "engine/train/checkpoint_run/page_cache.h"
#include "engine/train/failure.h"
#include "engine/train/rank_agreement.h"
#include "engine/train/rank_setup.h"
#include "engine/train/request_meter.h"
#include "storage/bench/bench_memory.h"
#include "storage/open.h"
#include "storage/remove_below.h"

namespace assay::engine {
namespace {

class CheckpointRun {
 public:
  CheckpointRun(const job::CheckpointPlan& plan, EventWriter& events, TerminationWatcher& termination)
      : plan_(plan), events_(events), termination_(termination) {}

  job::Ended execute() {
    job::Ended ended;
    const double begin = MonotonicSeconds();
    try {
      carry_out();
    } catch (const ControllerGone&) {
      throw;
    } catch (const std::exception&) {
      ended = describe_failure(std::current_exception(), where_);
      if (plan_.number_ranks > 1) {
        ended.reason = fmt::format("rank {}: {}", environment_.rank, ended.reason);
      }
    }
    ended.train_runtime = MonotonicSeconds() - begin;
    return ended;
  }

 private:
  void carry_out() {
    throw_if_error(job::CheckCheckpointPlan(plan_));
    environment_ = environment_of(plan_);
    set_rank_threads(plan_.threads, environment_);
    if (is_first()) {
      events_.write(job::Started{.pid = ::getpid(),
                                 .libtorch = TORCH_VERSION,
                                 .device = "cpu",
                                 .threads = at::get_num_threads(),
                                 .isa = cpu_kernels().isa});
    }
    if (plan_.modelled_ranks > 0) {
      write_modelled_ranks(plan_, events_);
      return;
    }
    if (plan_.number_ranks > 1) {
      world_ = join_ranks(plan_, environment_, c10::kCPU);
    }
    tell_of_failure(
        world_.get(), [this] { return where_; },
        [this] {
          remove_leftovers();
          state_ = plan_.format == "ckpt" ? make_single_file_state(plan_, requests_)
                                          : make_sharded_state(plan_, world_.get(), requests_);
          plan_.operation == "load" ? measure_loads() : measure_saves();
        });
  }

  bool is_first() const { return environment_.rank == 0; }

  /// The place is this point's alone: what is there an earlier run of it left that was killed, or kept.
  void remove_leftovers() {
    where_ = "removing what an earlier run left";
    const auto lock = termination_.defer();
    do_on_all_ranks(world_.get(), c10::kCPU, "remove what an earlier run left", [this] {
      if (is_first()) {
        const checkpoint::Place place = open_folder(plan_.output_dir);
        throw_if_error(storage::RemoveBelow(*place.store, place.key));
      }
    });
  }

  /// Each is removed when the next one stands; the last is compared with what was saved.
  void measure_saves() {
    for (int64_t step = 1; step <= plan_.repeats; ++step) {
      make_step(step);
      job::CheckpointTransfer transfer = measure("save", step, [&] { return state_->save(step); });
      if (step == plan_.repeats) {
        load_and_verify(step);
        transfer.is_verified = true;
      }
      events_.write(transfer);
      remove(step - 1);
    }
    remove_last(plan_.repeats);
  }

  void measure_loads() {
    make_step(1);
    where_ = "saving what is to be loaded";
    state_->save(1);
    for (int64_t repeat = 1; repeat <= plan_.repeats; ++repeat) {
      where_ = "preparing a load";
      state_->prepare_load();
      drop_caches();
      job::CheckpointTransfer transfer = measure("load", repeat, [&] {
        state_->load(1);
        return 0.0;
      });
      transfer.stall_seconds = transfer.seconds;
      if (plan_.format == "ckpt" && transfer.beyond_bytes > 0) {  // whose loads take the memory of what they load
        transfer.beyond_bytes = std::max<int64_t>(0, transfer.beyond_bytes - transfer.state_bytes);
      }
      state_->verify();
      transfer.is_verified = true;
      events_.write(transfer);
    }
    remove_last(1);
  }

  storage::StoreUri place() const { return value_or_throw(storage::ParseStoreUri(plan_.output_dir + "/")); }
  bool is_in_bucket() const { return place().scheme != "file"; }

  /// What is in a bucket is in no cache of ours.
  void drop_caches() {
    if (plan_.clear_cache && is_first() && !is_in_bucket()) {
      drop_from_page_cache(place().bucket);
    }
  }

  template <typename Work>
  job::CheckpointTransfer measure(const char* operation, int64_t repeat, const Work& work) {
    where_ = fmt::format("{} {}", operation, repeat);
    meet();
    const storage::RssWatch memory;
    std::optional<storage::AnonymousMemoryWatch> anonymous;
    if (plan_.operation == "load" && !is_in_bucket()) {
      anonymous.emplace();  // what is mapped of files is the page cache's
    }
    const double cpu_seconds = storage::ProcessCpuSeconds();
    const RequestTotals requests = requests_->totals();
    job::CheckpointTransfer transfer{.rank = environment_.rank, .operation = operation, .repeat = repeat};
    transfer.began_seconds = MonotonicSeconds();
    transfer.stall_seconds = work();
    transfer.seconds = MonotonicSeconds() - transfer.began_seconds;
    transfer.cpu_seconds = storage::ProcessCpuSeconds() - cpu_seconds;
    if (is_in_bucket()) {
      const RequestTotals made = requests_->totals().since(requests);
      transfer.read_requests = made.reads;
      transfer.write_requests = made.writes;
      transfer.retries = made.retries;
    }
    transfer.state_bytes = state_->bytes();
    transfer.beyond_bytes = anonymous ? anonymous->PeakBeyondBytes() : memory.PeakBeyondBytes().value_or(-1);
    return transfer;
  }

  void meet() {
    if (world_ != nullptr) {
      world_->barrier("checkpoint benchmark");
    }
  }

  void make_step(int64_t step) {
    where_ = fmt::format("step {}", step);
    const auto made = state_->advance(step);
    if (made && is_first()) {
      events_.write(*made);
    }
  }

  void load_and_verify(int64_t step) {
    where_ = "reading what was saved";
    state_->prepare_load();
    state_->load(step);
    state_->verify();
  }

  void remove(int64_t step) {
    const auto lock = termination_.defer();
    state_->remove(step);
  }

  void remove_last(int64_t step) {
    if (!plan_.keeps_last) {
      remove(step);
    }
  }

  const job::CheckpointPlan& plan_;
  EventWriter& events_;
  TerminationWatcher& termination_;
  RankEnvironment environment_;
  const std::shared_ptr<RequestMeter> requests_ = std::make_shared<RequestMeter>();
  std::unique_ptr<Communicator> world_;
  std::unique_ptr<BenchmarkState> state_;
  std::string where_ = "start";
};

}  // namespace

job::Ended run_checkpoint_plan(const job::CheckpointPlan& plan, EventWriter& events, TerminationWatcher& termination) {
  return CheckpointRun(plan, events, termination).execute();
}

}  // namespace assay::engine
