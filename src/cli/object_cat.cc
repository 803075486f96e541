// assay object cat: an object, or a range of it, to standard output.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/file_descriptor.h"
#include "cli/object_options.h"
#include "cli/object_verb.h"
#include "storage/copy/read_through.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

struct CatOptions {
  StoreFlags store;
  std::string uri;
  int64_t offset = 0;
  int64_t length = -1;
};

Status WriteToStdout(storage::Bytes bytes) {
  while (!bytes.empty()) {
    const ssize_t written = RetryOnSignal([&] { return ::write(STDOUT_FILENO, bytes.data(), bytes.size()); });
    if (written < 0) {
      return ErrnoStatus(errno, "write", "standard output");
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return Status::Ok();
}

Status Run(const CatOptions& options) {
  ASSAY_ASSIGN_OR_RETURN(const ObjectPlace place, options.store.Open(options.uri));
  ASSAY_RETURN_IF_ERROR(CheckIsObject(place));
  ASSAY_ASSIGN_OR_RETURN(const std::optional<storage::ObjectInfo> info, place.store->Stat(place.key));
  const std::string uri = place.store->Uri(place.key);
  if (!info) {
    return storage::MissingObjectStatus("read", uri);
  }
  const int64_t length = options.length < 0 ? info->size - options.offset : options.length;
  if (length < 0 || options.offset + length > info->size) {
    return Status::InvalidArgument(fmt::format("cannot read {}: {} bytes from {} on end behind its {} bytes", uri,
                                               options.length < 0 ? 0 : options.length, options.offset, info->size));
  }
  const InterruptFlag interrupt;
  storage::ReadThroughOptions through;
  through.offset = options.offset;
  through.length = length;
  through.read.cancel = interrupt.get();
  return storage::ReadThrough(*place.store, *info, through, WriteToStdout);
}

}  // namespace

Action AddObjectCat(CLI::App& app) {
  auto options = std::make_shared<CatOptions>();
  app.add_option("uri", options->uri, "The object")->required();
  app.add_option("--offset", options->offset, "First byte")->check(CLI::NonNegativeNumber)->capture_default_str();
  app.add_option("--length", options->length, "Bytes [to the end]")->check(CLI::NonNegativeNumber);
  options->store.AddTo(app);
  return [options] { return Run(*options); };
}

}  // namespace assay::cli
