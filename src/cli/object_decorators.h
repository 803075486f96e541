// What the verbs of `assay object` put around a store: counters, a record, a distance and faults.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "storage/decorator/counting_store.h"
#include "storage/decorator/fault_store.h"
#include "storage/decorator/latency_store.h"
#include "storage/object_store.h"
#include "storage/open.h"
#include "storage/options.h"

namespace assay::cli {

/// Used by one thread; the stores that it wraps may be used from any.
class StoreDecorators {
 public:
  /// --stats: count what is asked of every store but local files, which copies reach past any wrapping.
  void AddStatsTo(CLI::App& app);
  /// --stats with the table as its default, --latency, --fault, --seed and --record, for local files too.
  void AddBenchTo(CLI::App& app);

  /// Sets the observer of the requests of a store that is about to be opened, where they are counted.
  void Observe(const storage::StoreUri& uri, storage::StoreOptions& options);
  Result<std::shared_ptr<storage::ObjectStore>> Wrap(const storage::StoreUri& uri,
                                                     std::shared_ptr<storage::ObjectStore> store);
  /// Runs a verb and prints what was counted to standard error: of a verb that failed only where --stats asks for it.
  Status Counted(const std::function<Status()>& verb) const;

 private:
  bool IsWrapped(const storage::StoreUri& uri) const { return files_too_ || uri.scheme != "file"; }
  std::shared_ptr<storage::StoreCounters> CountersOf(const storage::StoreUri& uri);
  Result<std::shared_ptr<storage::ObjectStore>> Record(std::shared_ptr<storage::ObjectStore> store) const;
  void Print() const;

  bool files_too_ = false;
  CLI::Option* stats_flag_ = nullptr;
  std::string stats_;  ///< "", "table" or "json"
  std::string latency_;
  storage::LatencyModel latency_model_;
  std::vector<storage::FaultRule> faults_;
  uint64_t seed_ = 1;
  std::string record_path_;
  std::map<std::string, std::shared_ptr<storage::StoreCounters>> counters_;  ///< by "s3://bucket"
};

}  // namespace assay::cli
