#include "cli/object_output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>

#include "base/file_descriptor.h"
#include "storage/copy/read_through.h"
#include "storage/store_checks.h"

namespace assay::cli {
namespace {

Status WriteToStandardOutput(storage::Bytes bytes) {
  return WriteAll(STDOUT_FILENO, bytes) ? Status::Ok() : ErrnoStatus(errno, "write", "standard output");
}

}  // namespace

Status PrintObject(const ObjectPlace& place, int64_t offset, int64_t length) {
  ASSAY_RETURN_IF_ERROR(CheckIsObject(place));
  const InterruptFlag interrupt;
  ASSAY_ASSIGN_OR_RETURN(const storage::ObjectInfo info,
                         storage::StatExisting(*place.store, place.key, "read", interrupt.get()));
  if (offset > info.size || length > info.size - offset) {
    return Status::InvalidArgument(fmt::format(
        "cannot read {} from {} of {}: it has {} bytes (ask for a range within it)",
        length < 0 ? "the bytes" : fmt::format("{} bytes", length), offset, place.store->Uri(place.key), info.size));
  }
  storage::ReadThroughOptions through;
  through.offset = offset;
  through.length = length;
  through.read.cancel = interrupt.get();
  return storage::ReadThrough(*place.store, info, through, WriteToStandardOutput);
}

}  // namespace assay::cli
