#include "storage/decorator/recording_store.h"

#include <nlohmann/json.hpp>

namespace assay::storage {
namespace {

const char* NameOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kOk:
      return "ok";
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kPermissionDenied:
      return "permission_denied";
    case ErrorCode::kFailedPrecondition:
      return "failed_precondition";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kOutOfMemory:
      return "out_of_memory";
    case ErrorCode::kAborted:
      return "aborted";
    case ErrorCode::kInternal:
      return "internal";
  }
  return "unknown";
}

}  // namespace

Status RecordingStore::After(const StoreOperation& operation, Status status) {
  nlohmann::ordered_json json = {{"op", operation.name}, {"key", operation.key}};
  if (!operation.from.empty()) {
    json["from"] = operation.from;
  }
  json["count"] = operation.count;
  json["bytes"] = operation.bytes;
  if (operation.name == "read") {
    for (const ReadPiece& piece : operation.pieces) {
      json["ranges"].push_back({piece.offset, piece.memory.size()});
    }
  }
  json["status"] = NameOf(status.code());
  const std::string line = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  const std::lock_guard lock(mutex_);
  sink_(line);
  return status;
}

}  // namespace assay::storage
