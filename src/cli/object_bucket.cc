// assay object mb and rb: buckets are made and removed.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/terminal.h"
#include "cli/object_options.h"
#include "cli/object_verb.h"
#include "cli/options.h"
#include "storage/remove_below.h"

namespace assay::cli {
namespace {

struct BucketOptions {
  StoreFlags store;
  std::string uri;
  bool force = false;
  std::string output;
};

Result<ObjectPlace> OpenBucket(const BucketOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(ObjectPlace place, options.store.Open(options.uri));
  if (!place.key.empty()) {
    return Status::InvalidArgument(fmt::format("'{}' names an object or a prefix: name the bucket alone", options.uri));
  }
  return place;
}

void Print(const BucketOptions& options, const ObjectPlace& place, const char* done) {
  const std::string uri = place.store->Uri("");
  if (options.output == "json") {
    fmt::print("{}", DumpJsonPretty({{"uri", uri}, {"outcome", done}}));
  } else {
    fmt::print("{}: {}\n", done, Escaped(uri));
  }
}

Status Make(const BucketOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, OpenBucket(options));
  const InterruptFlag interrupt;
  ASSAY_RETURN_IF_ERROR(place.store->MakeBucket(interrupt.get()));
  Print(options, place, "make");
  return Status::Ok();
}

Status Remove(const BucketOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, OpenBucket(options));
  const InterruptFlag interrupt;
  if (options.force) {
    // Some services keep a bucket that has objects or unfinished uploads.
    ASSAY_RETURN_IF_ERROR(storage::RemoveBelow(*place.store, "", interrupt.get()));
  }
  ASSAY_RETURN_IF_ERROR(place.store->RemoveBucket(interrupt.get()));
  Print(options, place, "remove");
  return Status::Ok();
}

std::shared_ptr<BucketOptions> AddOptions(CLI::App& app, const char* what) {
  auto options = std::make_shared<BucketOptions>();
  app.add_option("uri", options->uri, what)->required();
  AddOutputOption(app, options->output, {"text", "json"});
  options->store.AddTo(app);
  return options;
}

}  // namespace

Action AddObjectMb(CLI::App& app) {
  auto options = AddOptions(app, "s3://bucket, gs://bucket (needs --project), oci://bucket@namespace (--compartment)");
  return [options] { return Make(*options); };
}

Action AddObjectRb(CLI::App& app) {
  auto options = AddOptions(app, "The bucket");
  app.add_flag("--force", options->force, "Remove what is in it first: objects and unfinished uploads");
  return [options] { return Remove(*options); };
}

}  // namespace assay::cli
