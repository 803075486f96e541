// A Status on its way through the engine, where failures are exceptions.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "base/status.h"

namespace assay::engine {

/// Thrown by engine code for failures that have a kind: a missing folder, a malformed file, a full disk. The boundary
/// of the worker turns it back into its Status; every other exception becomes an internal error there.
class StatusError : public std::runtime_error {
 public:
  explicit StatusError(Status status) : std::runtime_error(status.message()), status_(std::move(status)) {}
  const Status& status() const { return status_; }

 private:
  Status status_;
};

[[noreturn]] inline void throw_invalid_argument(std::string message) {
  throw StatusError(Status::InvalidArgument(std::move(message)));
}

inline void throw_if_error(Status status) {
  if (!status.ok()) {
    throw StatusError(std::move(status));
  }
}

template <typename T>
T value_or_throw(Result<T> result) {
  throw_if_error(result.status());
  return std::move(result).value();
}

}  // namespace assay::engine
