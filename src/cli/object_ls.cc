// assay object ls: what is under a prefix, as `aws s3 ls` prints it.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/json_list.h"
#include "cli/object_options.h"
#include "cli/object_text.h"
#include "cli/object_verb.h"
#include "cli/options.h"
#include "storage/auth/time_format.h"
#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

struct LsOptions {
  StoreFlags store;
  std::string uri;
  bool recursive = false;
  bool keys_only = false;
  bool human = false;
  bool summarize = false;
  bool unordered = false;
  int64_t limit = 0;
  std::string output;
};

/// Prints pages as they come.
class Lister {
 public:
  Lister(const LsOptions& options, const ObjectPlace& place) : options_(options), place_(place) {}

  Status Take(const storage::ListPage& page) {
    for (const std::string& prefix : page.prefixes) {
      ++prefixes_;
      if (options_.output == "json") {
        rolled_up_.push_back(prefix);
      } else {
        fmt::print("{:>{}}{}\n", options_.keys_only ? "" : "PRE ", options_.keys_only ? 0 : 32, Shown(prefix));
      }
    }
    for (const storage::ObjectInfo& info : page.objects) {
      ++objects_;
      bytes_ += info.size;
      if (options_.output == "json") {
        AddJson(info);
      } else {
        PrintLine(info);
      }
    }
    return Status::Ok();
  }

  Status Finish() {
    if (objects_ + prefixes_ == 0 && !place_.key.empty()) {
      return Status::NotFound(fmt::format("nothing is under {}", place_.store->Uri(place_.key)));
    }
    if (options_.output == "json") {
      FinishJson();
    } else if (options_.summarize) {
      fmt::print("\nTotal Objects: {}\n   Total Size: {}\n", objects_, Size(bytes_));
    }
    return Status::Ok();
  }

 private:
  std::string Size(int64_t bytes) const {
    return options_.human ? FormatBytes(static_cast<double>(bytes)) : fmt::format("{}", bytes);
  }
  /// As aws does: relative to the folder that was asked for, whole in a recursive listing.
  std::string Shown(const std::string& key) const {
    const size_t slash = place_.key.rfind('/');
    return Escaped(options_.recursive || slash == std::string::npos ? key : key.substr(slash + 1));
  }
  void PrintLine(const storage::ObjectInfo& info) const {
    if (options_.keys_only) {
      fmt::print("{}\n", Shown(info.key));
      return;
    }
    fmt::print("{:>20} {:>10} {}\n", info.modified > 0 ? storage::IsoTime(info.modified) : "-", Size(info.size),
               Shown(info.key));
  }

  void AddJson(const storage::ObjectInfo& info) {
    BeginJson();
    const std::string uri = place_.store->Uri(info.key);
    json_.Add(options_.keys_only ? nlohmann::json{{"uri", uri}, {"key", info.key}} : ObjectJson(uri, info));
  }
  void BeginJson() {
    if (!std::exchange(begun_, true)) {
      fmt::print("{{\"objects\": ");
    }
  }
  void FinishJson() {
    BeginJson();
    json_.Finish();
    const std::string bytes = options_.keys_only ? "" : fmt::format("\"total_bytes\": {},\n", bytes_);
    fmt::print(",\n\"prefixes\": {},\n{}\"total_objects\": {}}}\n", DumpJson(rolled_up_), bytes, objects_);
  }

  const LsOptions& options_;
  const ObjectPlace& place_;
  bool begun_ = false;  // of the JSON
  JsonList json_;
  std::vector<std::string> rolled_up_;
  int64_t objects_ = 0;
  int64_t prefixes_ = 0;
  int64_t bytes_ = 0;
};

Status Run(const LsOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, options.store.Open(options.uri));
  const InterruptFlag interrupt;
  Lister lister(options, place);
  storage::ListOptions list;
  list.prefix = place.key;
  list.delimiter = options.recursive ? "" : "/";
  list.keys_only = options.keys_only;
  list.cancel = interrupt.get();
  const storage::ParallelListOptions parallel = {.ordered = !options.unordered, .most_objects = options.limit};
  ASSAY_RETURN_IF_ERROR(storage::ListInParallel(*place.store, list, parallel, [&](storage::ListPage page) {
    return storage::IsCancelled(interrupt.get()) ? storage::CancelledStatus("list", place.uri) : lister.Take(page);
  }));
  return lister.Finish();
}

}  // namespace

Action AddObjectLs(CLI::App& app) {
  auto options = std::make_shared<LsOptions>();
  app.add_option("uri", options->uri, "s3://bucket/prefix, gs://, oci://bucket@namespace/, a path")->required();
  app.add_flag("-r,--recursive", options->recursive, "All objects under the prefix, not one level");
  app.add_flag("--human-readable", options->human, "Sizes as 1.50 GiB");
  app.add_flag("--unordered", options->unordered, "Print names as they are listed: faster in large buckets");
  app.add_option("--limit", options->limit, "End after so many names; 0: all")
      ->check(WholeNumber(0))
      ->capture_default_str();
  CLI::Option* keys_only = app.add_flag("--keys-only", options->keys_only,
                                        "Print names alone; what only their sizes and times need is not asked for");
  app.add_flag("--summarize", options->summarize, "Count and total size at the end")->excludes(keys_only);
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return Run(*options); }); };
}

}  // namespace assay::cli
