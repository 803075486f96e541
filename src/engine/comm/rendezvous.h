// Where the ranks of a job find each other: a c10d store at an address.
#pragma once

#include <c10/util/Exception.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <vector>

#include "engine/comm/comm_options.h"
#include "engine/comm/rank_environment.h"

namespace assay::engine {

/// One rank's connection. Rank 0 serves the store unless torchrun does, so it must stay until no rank needs it.
class Rendezvous {
 public:
  /// Connects and registers this rank; from here on the process ignores SIGPIPE, unless it handles it. Throws
  /// CommError, in one line, when the port is in use, nobody answers, another job meets there, or this rank is there
  /// already.
  Rendezvous(const RankEnvironment& environment, const CommOptions& options);

  /// What every rank gave for `key`, by rank; waits for all of them. The first one whose patience ends names those that
  /// did not come, and all who came throw the same CommError then; who comes later is told so.
  std::vector<std::string> exchange(std::string_view key, const std::string& own);

  /// A number that all ranks of this run have and no other run has: what is left of another, and who is led to a rank
  /// of another, is told by it.
  uint64_t run() const { return run_; }

  /// Whether the store is this process's, and ends with it.
  bool serves() const { return environment_.rank == 0 && !environment_.store_is_served; }

  /// The store, with a prefix of this job's own.
  const c10::intrusive_ptr<c10d::Store>& store() const { return store_; }
  const RankEnvironment& environment() const { return environment_; }

 private:
  void connect(const CommOptions& options);
  void agree(const std::string& key, const std::string& own, const std::string& what);
  void register_rank();
  void agree_on_run();
  void put(const std::string& key, const std::string& value);
  void give_up_missing(const std::vector<std::string>& keys);
  void stay_until_known(std::string_view key, int came);
  /// "127.0.0.1:29500"
  std::string place() const;

  RankEnvironment environment_;
  double start_seconds_;
  uint64_t run_ = 0;
  c10::intrusive_ptr<c10d::Store> store_;
};

}  // namespace assay::engine
