// Exceptions of the engine turned into the way a run ended: the worker's one boundary.
#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/status.h"
#include "job/event.h"

namespace assay::engine {

/// A run that cannot fit into the memory that it may use, found before it began. The text is the whole reason.
class CannotFit : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A training whose loss or gradients are not finite, which nothing cures: the same plan would diverge again.
class Diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Throws Diverged when the loss of `step` is not finite, when its gradient norm is not although no loss scale made the
/// step be skipped, or when it was skipped and the loss scale is exhausted. `cure` says what else than a smaller
/// learning rate may help, or is empty.
void throw_if_diverged(const job::Step& step, bool scale_exhausted, std::string_view cure);

/// What `exception` says about the run, in one line without a stack trace. `where` tells what the worker was doing, for
/// example "forward of step 3", and is put into the reason of memory failures and of unexpected exceptions.
job::Ended describe_failure(std::exception_ptr exception, std::string_view where);

/// The exit code of a worker that ended so: 0 when done, 2 for the user's mistake and a training that diverged, else 1.
int exit_code(job::EndKind kind);

}  // namespace assay::engine
