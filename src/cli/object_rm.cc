// assay object rm: removes one object, or all under a prefix.
#include <fmt/format.h>

#include <memory>
#include <vector>

#include "base/terminal.h"
#include "cli/object_options.h"
#include "cli/object_verb.h"
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
};

/// Removes `keys` and says so, of several also which failed; the first failure is returned after all have been tried.
Status RemoveBatch(const RmOptions& options, const ObjectPlace& place, const std::vector<std::string>& keys) {
  const std::vector<Status> statuses =
      options.dry_run ? std::vector<Status>(keys.size()) : place.store->RemoveMany(keys);
  Status first;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!statuses[i].ok()) {
      first = first.ok() ? statuses[i] : first;
      if (keys.size() > 1) {
        fmt::print(stderr, "assay object: {}\n", OneLine(statuses[i].message()));
      }
    } else if (!options.quiet) {
      fmt::print("{}delete: {}\n", options.dry_run ? "(dryrun) " : "", Escaped(place.store->Uri(keys[i])));
    }
  }
  return first;
}

Status RemoveTree(const RmOptions& options, const ObjectPlace& place) {
  const InterruptFlag interrupt;
  storage::ListOptions list;
  list.prefix = AsFolder(place.key);
  std::vector<std::string> keys;
  ASSAY_RETURN_IF_ERROR(storage::ListInParallel(*place.store, list, storage::kListWorkers, [&](storage::ListPage page) {
    for (storage::ObjectInfo& info : page.objects) {
      keys.push_back(std::move(info.key));
    }
    return storage::IsCancelled(interrupt.get()) ? storage::CancelledStatus("list", place.uri) : Status::Ok();
  }));
  int64_t failed = 0;
  Status first;
  for (size_t begin = 0; begin < keys.size(); begin += kBatch) {
    if (storage::IsCancelled(interrupt.get())) {
      return storage::CancelledStatus("remove", place.uri);
    }
    const auto end = keys.begin() + static_cast<std::ptrdiff_t>(std::min(keys.size(), begin + kBatch));
    const Status status = RemoveBatch(options, place, {keys.begin() + static_cast<std::ptrdiff_t>(begin), end});
    failed += status.ok() ? 0 : 1;
    first = first.ok() ? status : first;
  }
  return failed == 0 ? Status::Ok() : first.WithContext("not everything was removed");
}

Status Run(const RmOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, options.store.Open(options.uri));
  if (options.recursive) {
    return RemoveTree(options, place);
  }
  if (place.key.empty() || (place.is_file() && place.key.ends_with('/'))) {
    return Status::InvalidArgument(
        fmt::format("'{}' is a bucket or a folder: add --recursive to remove all that is in it", options.uri));
  }
  if (options.dry_run) {
    ASSAY_ASSIGN_OR_RETURN(const std::optional<storage::ObjectInfo> info, place.store->Stat(place.key));
    if (!info) {
      return Status::Ok();
    }
  }
  return RemoveBatch(options, place, {place.key});
}

}  // namespace

Action AddObjectRm(CLI::App& app) {
  auto options = std::make_shared<RmOptions>();
  app.add_option("uri", options->uri, "The object, or the prefix of many")->required();
  app.add_flag("-r,--recursive", options->recursive, "All objects in the folder");
  app.add_flag("--dry-run,--dryrun", options->dry_run, "Print what would be removed, remove nothing");
  app.add_flag("-q,--quiet", options->quiet, "Print failures only");
  options->store.AddTo(app);
  options->store.decorators().AddStatsTo(app);
  return [options] { return options->store.decorators().Counted([&] { return Run(*options); }); };
}

}  // namespace assay::cli
