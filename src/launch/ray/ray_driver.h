// The one job of ours on a Ray cluster, and the talk with it: it runs many plans at a time, as resources allow.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/line_splitter.h"
#include "base/status.h"
#include "launch/ray/ray_api.h"

namespace assay::launch {

/// What the driver says of one run, in its order.
class RayInbox {
 public:
  void Add(std::string line);
  /// Nothing more will come.
  void Close(std::string why);

  /// What has come since the last call; waits for it, but not longer than `patience`.
  std::vector<std::string> Take(std::chrono::milliseconds patience);
  /// Why nothing more comes; empty while something may.
  std::string closed() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> lines_;
  std::string closed_;
};

/// May be used from several threads at once. The job ends with this object; it also ends by itself when it has not
/// heard of us for half a minute.
class RayDriver {
 public:
  /// Submits the job and waits until it answers, or until Ctrl-C.
  static Result<std::unique_ptr<RayDriver>> Start(const std::string& address);
  ~RayDriver();

  /// Where what is said of run `run` comes in, until it is forgotten.
  std::shared_ptr<RayInbox> Listen(const std::string& run);
  void Forget(const std::string& run);
  /// Commands reach the driver in the order in which they are sent.
  Status Send(const nlohmann::json& command);

  /// CPUs and GPUs of the whole cluster as the job started.
  double cpus() const { return cpus_; }
  double gpus() const { return gpus_; }

 private:
  explicit RayDriver(const std::string& address);
  std::string JobId() const { return "assay-" + operation_; }
  Status Submit();
  Status WaitUntilReady();
  /// Until the job is somewhere, or has ended.
  Result<RayJobState> WaitUntilPlaced();
  void ReadLog(const std::string& node_id);
  void TakeLine(std::string_view line);
  /// Tells the job that we live, and the reader when the job does not.
  void KeepAlive(const std::stop_token& stop);

  RayApi api_;
  const std::string operation_;
  double cpus_ = 0;
  double gpus_ = 0;
  bool submitted_ = false;
  std::shared_ptr<RayInbox> own_inbox_;

  std::mutex sending_;  ///< held while a command is on its way; guards the next one's number
  int64_t next_command_ = 0;

  std::mutex mutex_;  ///< guards what is below
  std::map<std::string, std::shared_ptr<RayInbox>, std::less<>> inboxes_;
  std::string closed_;
  std::string last_words_;

  std::jthread reader_;
  std::jthread heart_;
};

}  // namespace assay::launch
