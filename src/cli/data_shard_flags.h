// What the verbs that write data sets of shards have in common.
#pragma once

#include <cstdint>
#include <string>

#include "base/parallel.h"
#include "base/text.h"
#include "cli/object_options.h"
#include "cli/verb.h"
#include "shards/convert/convert.h"

namespace assay::cli {

/// How shards are written, where to, and what is printed of it.
class ShardFlags {
 public:
  /// Of the shards alone.
  void AddTo(CLI::App& app);
  /// Of the store and the output, which stand behind all others.
  void AddStoreTo(CLI::App& app);

  const StoreFlags& store() const { return store_; }
  Result<shards::ConvertOptions> Make() const;
  void Print(const shards::DatasetPlace& place, const shards::ConvertReport& report, double seconds) const;

 private:
  StoreFlags store_;
  std::string format_ = "mds";
  std::string compression_;
  std::string hashes_;
  std::string size_limit_ = FormatBytes(static_cast<double>(shards::kDefaultShardBytes));
  int64_t workers_ = UsableThreads();
  bool append_ = false;
  bool resume_ = false;
  std::string output_;
};

}  // namespace assay::cli
