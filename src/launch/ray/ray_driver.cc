#include "launch/ray/ray_driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "base/files.h"
#include "base/json.h"
#include "base/subprocess.h"
#include "base/terminal.h"
#include "base/text.h"

namespace assay::launch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPoll(100);
constexpr double kStartSeconds = 180;
constexpr char kDriver[] = "-";  // the run of what the driver says of itself

/// The Python that has Ray on the cluster's machines.
std::string Python() {
  const char* named = std::getenv("ASSAY_RAY_PYTHON");
  return named != nullptr && *named != '\0' ? named : "python";
}

std::string ShellQuoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return quoted + "'";
}

}  // namespace

void RayInbox::Add(std::string line) {
  {
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::move(line));
  }
  changed_.notify_all();
}

void RayInbox::Close(std::string why) {
  {
    const std::lock_guard lock(mutex_);
    closed_ = closed_.empty() ? std::move(why) : closed_;
  }
  changed_.notify_all();
}

std::vector<std::string> RayInbox::Take(milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [this] { return !lines_.empty() || !closed_.empty(); });
  std::vector<std::string> taken(std::make_move_iterator(lines_.begin()), std::make_move_iterator(lines_.end()));
  lines_.clear();
  return taken;
}

std::string RayInbox::closed() const {
  const std::lock_guard lock(mutex_);
  return lines_.empty() ? closed_ : "";
}

RayDriver::RayDriver(const std::string& address) : api_(address), operation_(RandomUid().substr(0, 12)) {
  own_inbox_ = Listen(kDriver);
}

Result<std::unique_ptr<RayDriver>> RayDriver::Start(const std::string& address) {
  std::unique_ptr<RayDriver> driver(new RayDriver(address));
  ASSAY_RETURN_IF_ERROR(driver->Submit());
  ASSAY_RETURN_IF_ERROR(driver->WaitUntilReady());
  return driver;
}

Status RayDriver::Submit() {
  ASSAY_RETURN_IF_ERROR(api_.CheckVersion());
  const std::string program = ShareDirectory() + "/launch/ray_driver.py";
  ASSAY_RETURN_IF_ERROR(api_.Submit(JobId(), fmt::format("{} {} {}", Python(), ShellQuoted(program), operation_)));
  submitted_ = true;
  ASSAY_ASSIGN_OR_RETURN(const RayJobState state, WaitUntilPlaced());
  if (state.node_id.empty()) {
    return Status::Io(fmt::format("the job on {} ended at once: {}", api_.address(), state.message));
  }
  reader_ = std::jthread([this, node = state.node_id] { ReadLog(node); });
  heart_ = std::jthread([this](const std::stop_token& stop) { KeepAlive(stop); });
  return Status::Ok();
}

Result<RayJobState> RayDriver::WaitUntilPlaced() {
  const double deadline = MonotonicSeconds() + kStartSeconds;
  while (true) {
    ASSAY_ASSIGN_OR_RETURN(RayJobState state, api_.State(JobId()));
    if (!state.node_id.empty() || state.ended()) {
      return state;
    }
    if (InterruptRequested()) {
      return Status::Aborted("interrupted while the job waited for its place");
    }
    if (MonotonicSeconds() > deadline) {
      return Status::Io(fmt::format("the job on {} is still {} after {}: {}", api_.address(), state.status,
                                    FormatSeconds(kStartSeconds), state.message));
    }
    std::this_thread::sleep_for(kPoll);
  }
}

Status RayDriver::WaitUntilReady() {
  const double deadline = MonotonicSeconds() + kStartSeconds;
  while (own_inbox_->closed().empty() && MonotonicSeconds() < deadline) {
    for (const std::string& line : own_inbox_->Take(kPoll)) {
      const Result<nlohmann::json> said = ParseJson(line, api_.address());
      if (said.ok() && said->value("driver", "") == "ready") {
        cpus_ = said->value("cpus", 0.0);
        gpus_ = said->value("gpus", 0.0);
        return Status::Ok();
      }
    }
    if (InterruptRequested()) {
      return Status::Aborted("interrupted while the job started");
    }
  }
  const std::string why = own_inbox_->closed();
  return Status::Io(why.empty() ? fmt::format("the job on {} does not answer", api_.address()) : why);
}

RayDriver::~RayDriver() {
  heart_ = {};
  if (submitted_) {
    static_cast<void>(Send({{"do", "end"}}));
    const double deadline = MonotonicSeconds() + 5;
    Result<RayJobState> state = api_.State(JobId());
    while (state.ok() && !state->ended() && MonotonicSeconds() < deadline) {
      std::this_thread::sleep_for(kPoll);
      state = api_.State(JobId());
    }
    if (state.ok() && !state->ended()) {
      static_cast<void>(api_.Stop(JobId()));
    }
  }
  api_.EndFollowing();
}

std::shared_ptr<RayInbox> RayDriver::Listen(const std::string& run) {
  auto inbox = std::make_shared<RayInbox>();
  const std::lock_guard lock(mutex_);
  if (!closed_.empty()) {
    inbox->Close(closed_);
  }
  inboxes_[run] = inbox;
  return inbox;
}

void RayDriver::Forget(const std::string& run) {
  const std::lock_guard lock(mutex_);
  inboxes_.erase(run);
}

Status RayDriver::Send(const nlohmann::json& command) {
  const std::lock_guard lock(sending_);
  ASSAY_RETURN_IF_ERROR(api_.Put(fmt::format("assay-{}-{}.zip", operation_, next_command_), DumpJson(command)));
  ++next_command_;
  return Status::Ok();
}

void RayDriver::KeepAlive(const std::stop_token& stop) {
  constexpr milliseconds kPeriod(3000);
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!stopped.wait_for(lock, stop, kPeriod, [&] { return stop.stop_requested(); })) {
    static_cast<void>(Send({{"do", "alive"}}));  // the next one may get through
    // Streams of logs go on when nobody writes to them any more.
    if (const Result<RayJobState> state = api_.State(JobId()); state.ok() && state->ended()) {
      api_.BreakOff();
    }
  }
}

void RayDriver::ReadLog(const std::string& node_id) {
  constexpr int kMostSilent = 20;  // tries to reach a dashboard that does not answer, over as many seconds
  size_t told = 0;
  LineSplitter lines([this](std::string_view line) { TakeLine(line); });
  Status status;
  Result<RayJobState> state = RayJobState();
  for (int silent = 0; silent < kMostSilent && !(state.ok() && state->ended());) {
    // A stream begins with the first byte: what was told before it broke off is passed over.
    size_t passed = 0;
    status = api_.FollowLog(JobId(), node_id, [&](std::string_view piece) {
      const size_t known = std::min(piece.size(), told - passed);
      passed += piece.size();
      told = std::max(told, passed);
      lines.Append(piece.substr(known));
    });
    if (status.code() == ErrorCode::kAborted) {
      break;
    }
    std::this_thread::sleep_for(kPoll);
    state = api_.State(JobId());
    silent = state.ok() ? 0 : silent + 1;
    if (silent > 0) {
      std::this_thread::sleep_for(10 * kPoll);
    }
  }
  const std::string why = state.ok() ? state->message : state.status().message();
  const std::lock_guard lock(mutex_);
  closed_ = fmt::format("the job on {} has ended: {}{}", api_.address(), why,
                        last_words_.empty() ? "" : " (" + last_words_ + ")");
  for (const auto& [run, inbox] : inboxes_) {
    inbox->Close(closed_);
  }
}

void RayDriver::TakeLine(std::string_view line) {
  constexpr std::string_view kPrefix = "assay ";
  const size_t space = line.find(' ', kPrefix.size());
  const std::lock_guard lock(mutex_);
  if (!line.starts_with(kPrefix) || space == std::string_view::npos) {
    if (const std::string_view words = Trim(line); !words.empty()) {
      last_words_ = OneLine(std::string(words));
    }
    return;
  }
  const auto inbox = inboxes_.find(line.substr(kPrefix.size(), space - kPrefix.size()));
  if (inbox != inboxes_.end()) {
    inbox->second->Add(std::string(line.substr(space + 1)));
  }
}

}  // namespace assay::launch
