// Flags of what streams samples: the order, the rank, memory and cache.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "cli/object_options.h"
#include "shards/stream/sample_stream.h"

namespace assay::cli {

class StreamFlags {
 public:
  /// `with_reading`: also those of memory, cache and damage.
  void AddTo(CLI::App& app, bool with_reading);
  Result<shards::StreamOptions> Make() const;
  /// The data sets, opened.
  Result<std::vector<shards::StreamSource>> OpenSources(storage::CancelFlag cancel) const;
  /// The values of --shuffle, and what one means.
  static std::vector<std::string> ShuffleChoices();
  static Status SetShuffle(const std::string& name, shards::OrderSettings& order);
  const StoreFlags& store() const { return store_; }
  /// The URIs, for messages.
  std::string Names() const;

 private:
  StoreFlags store_;
  std::vector<std::string> uris_;
  std::string shuffle_ = "py1e";
  std::string batching_ = "random";
  std::string memory_ = "1GiB";
  std::string cache_limit_ = "10GiB";
  shards::StreamOptions options_;
  int64_t threads_ = 4;
};

}  // namespace assay::cli
