#include "engine/shard/patient_work.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <future>
#include <optional>

namespace assay::engine {
namespace {

constexpr std::chrono::milliseconds kFirstPause(10);
constexpr std::chrono::milliseconds kLongestPause(50);

/// How far a rank is; all ranks are as far as the one with the largest number.
enum class Progress { kDone = 0, kBusy = 1, kFailed = 2 };

bool meets(const Communicator* group) {
  return group != nullptr && group->size() > 1;
}

Progress agree(std::span<Communicator* const> groups, Progress own) {
  auto value = static_cast<double>(own);
  for (Communicator* group : groups) {
    if (meets(group)) {
      const at::Tensor progress = group->allocate(1, at::kDouble).fill_(value);
      group->all_reduce(progress, ReduceOp::kMax, "progress of all ranks' work")->wait();
      value = progress.item<double>();
    }
  }
  return static_cast<Progress>(value);
}

/// Work on a thread of its own, which is over when this is destroyed.
class OwnWork {
 public:
  OwnWork(c10::Device device, std::string_view what, const std::function<void()>& work)
      : what_(what),
        running_(
            std::async(std::launch::async, &OwnWork::outcome, std::cref(work), device, at::GradMode::is_enabled())) {}
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;
  ~OwnWork() {
    if (running_.valid() && running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      fmt::print(stderr, "assay-worker: still has to {}, although another rank failed: it ends when that is done\n",
                 what_);
    }
  }

  /// After `pause` at the latest.
  Progress progress(std::chrono::milliseconds pause) {
    if (running_.valid() && running_.wait_for(pause) != std::future_status::ready) {
      return Progress::kBusy;
    }
    if (running_.valid()) {
      error_ = running_.get();
    }
    return error_ == nullptr ? Progress::kDone : Progress::kFailed;
  }

  const std::exception_ptr& error() const { return error_; }

 private:
  /// What is current for a thread is so for this one too.
  static std::exception_ptr outcome(const std::function<void()>& work, c10::Device device, bool grad_mode) {
    try {
      const c10::OptionalDeviceGuard on(device.has_index() ? std::optional(device) : std::nullopt);
      const at::AutoGradMode mode(grad_mode);
      work();
    } catch (...) {
      return std::current_exception();
    }
    return nullptr;
  }

  std::string_view what_;
  std::exception_ptr error_;
  std::future<std::exception_ptr> running_;
};

}  // namespace

void run_patiently(std::span<Communicator* const> groups, c10::Device device, std::string_view what,
                   const std::function<void()>& work) {
  if (std::ranges::none_of(groups, meets)) {
    work();
    return;
  }
  OwnWork own(device, what, work);
  Progress all = Progress::kBusy;
  for (auto pause = kFirstPause; all == Progress::kBusy; pause = std::min(2 * pause, kLongestPause)) {
    all = agree(groups, own.progress(pause));
  }
  if (own.error() != nullptr) {
    std::rethrow_exception(own.error());
  }
  if (all == Progress::kFailed) {
    throw CommError("another rank could not do its part of what all wait for: its own line says why");
  }
}

void run_patiently(const ShardContext& context, std::string_view what, const std::function<void()>& work) {
  Communicator* const groups[] = {context.groups.shard, context.groups.replicate};
  run_patiently(groups, context.device, what, work);
}

}  // namespace assay::engine
