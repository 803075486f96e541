// assay object rm: removes one object, or all under a prefix.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/terminal.h"
#include "cli/json_list.h"
#include "cli/object_options.h"
#include "cli/object_verb.h"
#include "cli/options.h"
#include "storage/copy/key_spool.h"
#include "storage/list_parallel.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

constexpr size_t kBatch = 1000;

struct RmOptions {
  StoreFlags store;
  std::string uri;
  bool recursive = false;
  bool dry_run = false;
  bool quiet = false;
  std::string output;
};

/// Says what became of each object: as lines, of which those of failures go to standard error, or as JSON.
class RmReport {
 public:
  explicit RmReport(const RmOptions& options) : options_(options) {}

  void Add(const std::string& uri, const Status& status, bool of_several) {
    if (options_.output == "json") {
      json_.Add({{"uri", uri}, {"outcome", status.ok() ? word() : "failed"}, {"error", status.message()}});
    } else if (status.ok() && !options_.quiet) {
      fmt::print("{}: {}\n", word(), Escaped(uri));
    }
    if (!status.ok() && of_several) {
      fmt::print(stderr, "assay object: {}\n", OneLine(status.message()));
    }
  }
  void Finish() {
    if (options_.output == "json") {
      json_.Finish();
      fmt::print("\n");
    }
  }

 private:
  const char* word() const { return options_.dry_run ? "(dryrun) delete" : "delete"; }

  const RmOptions& options_;
  JsonList json_;
};

/// Removes `keys` and says so, of several also which failed; the first failure is returned after all have been tried.
/// Nothing is said of those that nobody knows about, because the store had not answered when it was interrupted.
Status RemoveBatch(const RmOptions& options, const ObjectPlace& place, const std::vector<std::string>& keys,
                   storage::CancelFlag cancel, RmReport& report) {
  const std::vector<Status> statuses =
      options.dry_run ? std::vector<Status>(keys.size()) : place.store->RemoveMany(keys, cancel);
  Status first;
  for (size_t i = 0; i < keys.size(); ++i) {
    first = first.ok() ? statuses[i] : first;
    if (statuses[i].code() == ErrorCode::kAborted) {
      continue;
    }
    report.Add(place.store->Uri(keys[i]), statuses[i], keys.size() > 1);
  }
  return first;
}

/// Nothing is removed before all has been listed: a listing that turns out to be none says nothing of what is there.
Status ListKeys(const ObjectPlace& place, storage::CancelFlag cancel, storage::KeySpool& keys) {
  storage::ListOptions list;
  list.prefix = AsFolder(place.key);
  list.keys_only = true;
  list.cancel = cancel;
  return storage::ListInParallel(*place.store, list, {.ordered = false}, [&](const storage::ListPage& page) {
    for (const storage::ObjectInfo& info : page.objects) {
      ASSAY_RETURN_IF_ERROR(keys.Add(info.key));
    }
    return storage::IsCancelled(cancel) ? storage::CancelledStatus("list", place.uri) : Status::Ok();
  });
}

Status RemoveTree(const RmOptions& options, const ObjectPlace& place, storage::CancelFlag cancel, RmReport& report) {
  storage::KeySpool keys;
  ASSAY_RETURN_IF_ERROR(ListKeys(place, cancel, keys));
  Status first;
  ASSAY_RETURN_IF_ERROR(keys.ForEachBatch(kBatch, [&](const std::vector<std::string>& batch) {
    if (storage::IsCancelled(cancel)) {
      return storage::CancelledStatus("remove", place.uri);
    }
    const Status status = RemoveBatch(options, place, batch, cancel, report);
    first = first.ok() ? status : first;
    return status.code() == ErrorCode::kAborted ? storage::CancelledStatus("remove", place.uri) : Status::Ok();
  }));
  return first.ok() ? Status::Ok() : first.WithContext("not everything was removed");
}

Status Remove(const RmOptions& options, const ObjectPlace& place, RmReport& report) {
  const InterruptFlag interrupt;
  if (options.recursive) {
    return RemoveTree(options, place, interrupt.get(), report);
  }
  if (place.key.empty() || (place.is_file() && place.key.ends_with('/'))) {
    return Status::InvalidArgument(
        fmt::format("'{}' is a bucket or a folder: add --recursive to remove all that is in it", options.uri));
  }
  if (options.dry_run) {
    ASSAY_ASSIGN_OR_RETURN(const std::optional<storage::ObjectInfo> info,
                           place.store->Stat(place.key, interrupt.get()));
    if (!info) {
      return Status::Ok();
    }
  }
  return RemoveBatch(options, place, {place.key}, interrupt.get(), report);
}

Status Run(const RmOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, options.store.Open(options.uri));
  RmReport report(options);
  const Status status = Remove(options, place, report);
  report.Finish();
  return status;
}

}  // namespace

Action AddObjectRm(CLI::App& app) {
  auto options = std::make_shared<RmOptions>();
  app.add_option("uri", options->uri, "The object, or the prefix of many")->required();
  app.add_flag("-r,--recursive", options->recursive, "All objects in the folder");
  app.add_flag("--dry-run,--dryrun", options->dry_run, "Print what would be removed, remove nothing");
  app.add_flag("-q,--quiet", options->quiet, "Print failures only");
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return Run(*options); }); };
}

}  // namespace assay::cli
