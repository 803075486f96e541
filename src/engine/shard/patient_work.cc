#include "engine/shard/patient_work.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/DeviceGuard.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <future>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/thread_priority.h"
#include "engine/comm/host_map.h"

namespace assay::engine {
namespace {

constexpr std::chrono::milliseconds kFirstPause(10);
constexpr std::chrono::milliseconds kLongestPause(50);

/// How far a rank is.
enum class Progress { kDone = 0, kBusy = 1, kFailed = 2 };

/// What is current for a thread is so for the one that works too.
std::exception_ptr outcome_of(const std::function<void()>& work, c10::Device device, bool grad_mode) {
  try {
    const c10::OptionalDeviceGuard on(device.has_index() ? std::optional(device) : std::nullopt);
    const at::AutoGradMode mode(grad_mode);
    work();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

}  // namespace

class PatientWork::State {
 public:
  State(Communicator* ranks, c10::Device device, std::string what, std::function<void()> work, Patience patience)
      : ranks_(ranks != nullptr && ranks->size() > 1 ? ranks : nullptr),
        what_(std::move(what)),
        patience_(std::move(patience)),
        next_notice_(patience_.notice_seconds),
        running_(std::async(std::launch::async, [device, work = std::move(work), yields = patience_.yields,
                                                 grad_mode = at::GradMode::is_enabled()] {
          if (yields) {
            YieldToOtherThreads();
          }
          return outcome_of(work, device, grad_mode);
        })) {}

  ~State() {
    if (running_.valid() && running_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      fmt::print(stderr, "assay-worker: still has to {}, although another rank failed: it ends when that is done\n",
                 what_);
    }
  }

  bool meet(std::chrono::milliseconds pause) {
    const Progress own = progress(pause);
    if (ranks_ == nullptr) {
      failed_ = own == Progress::kFailed ? std::vector<int>{0} : std::vector<int>();
      return own != Progress::kBusy;
    }
    hear(own);
    const bool has_failed = patience_.ends_at_failure && !failed_.empty();
    if (!busy_.empty() && !has_failed && given_up_.empty()) {
      note();
      return false;
    }
    end();
    return true;
  }

  const std::vector<int>& failed() const { return failed_; }
  const std::vector<int>& given_up() const { return given_up_; }
  const std::exception_ptr& error() const { return error_; }
  double seconds() const { return MonotonicSeconds() - start_; }

 private:
  Progress progress(std::chrono::milliseconds pause) {
    if (running_.valid() && running_.wait_for(pause) != std::future_status::ready) {
      return Progress::kBusy;
    }
    if (running_.valid()) {
      error_ = running_.get();
    }
    return error_ == nullptr ? Progress::kDone : Progress::kFailed;
  }

  /// How far each rank is, and whether the first one waits no longer.
  void hear(Progress own) {
    const at::NoGradGuard no_grad;
    const int size = ranks_->size();
    const at::Tensor all = ranks_->allocate(size + 1, at::kDouble).zero_();
    all[ranks_->rank()].fill_(static_cast<double>(own));
    all[size].fill_(ranks_->rank() == 0 && waits_no_longer() ? 1.0 : 0.0);
    ranks_->all_reduce(all, ReduceOp::kMax, "progress of all ranks' work")->wait();
    const at::Tensor heard = all.cpu();
    busy_.clear();
    failed_.clear();
    for (int rank = 0; rank < size; ++rank) {
      const auto progress = static_cast<Progress>(heard[rank].item<double>());
      if (progress != Progress::kDone) {
        (progress == Progress::kBusy ? busy_ : failed_).push_back(rank);
      }
    }
    if (failed_.empty() && heard[size].item<double>() > 0) {
      given_up_ = busy_;
    }
  }

  /// As the first rank sees it.
  bool waits_no_longer() const {
    return patience_.slack_seconds > 0 && half_done_ &&
           seconds() - *half_done_ > std::max(patience_.slack_seconds, 3 * patience_.most_work * *half_done_);
  }

  void note() {
    if (!half_done_ && 2 * busy_.size() <= static_cast<size_t>(ranks_->size())) {
      half_done_ = seconds();
    }
    if (ranks_->rank() == 0 && seconds() > next_notice_) {
      next_notice_ = 2 * seconds();
      fmt::print(stderr, "assay-worker: {} still {} to {} after {:.0f} s\n", describe_ranks(busy_),
                 busy_.size() == 1 ? "has" : "have", what_, seconds());
    }
  }

  /// This rank's work, whose outcome does not matter where another's is what ended it.
  void end() {
    if (running_.valid() && patience_.give_up) {
      patience_.give_up();
      error_ = running_.get();
    }
  }

  Communicator* ranks_;
  std::string what_;
  Patience patience_;
  const double start_ = MonotonicSeconds();
  double next_notice_;
  std::optional<double> half_done_;  ///< when half of the ranks were done
  std::vector<int> busy_;
  std::vector<int> failed_;
  std::vector<int> given_up_;
  std::exception_ptr error_;
  std::future<std::exception_ptr> running_;
};

PatientWork::PatientWork(Communicator* ranks, c10::Device device, std::string what, std::function<void()> work,
                         Patience patience)
    : state_(std::make_unique<State>(ranks, device, std::move(what), std::move(work), std::move(patience))) {}

PatientWork::~PatientWork() = default;

bool PatientWork::meet(std::chrono::milliseconds pause) {
  return state_->meet(pause);
}

void PatientWork::wait() {
  for (auto pause = kFirstPause; !meet(pause); pause = std::min(2 * pause, kLongestPause)) {
  }
}

const std::vector<int>& PatientWork::failed_ranks() const {
  return state_->failed();
}

const std::vector<int>& PatientWork::given_up_ranks() const {
  return state_->given_up();
}

const std::exception_ptr& PatientWork::error() const {
  return state_->error();
}

double PatientWork::seconds() const {
  return state_->seconds();
}

void run_patiently(Communicator& ranks, c10::Device device, std::string_view what, const std::function<void()>& work,
                   const Patience& patience) {
  if (ranks.size() == 1) {
    work();
    return;
  }
  PatientWork own(&ranks, device, std::string(what), work, patience);
  own.wait();
  if (own.error() != nullptr) {
    std::rethrow_exception(own.error());
  }
  if (!own.is_done()) {
    throw CommError("another rank could not do its part of what all wait for: its own line says why");
  }
}

}  // namespace assay::engine
