#include "engine/train/failure.h"

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <new>

#include "base/text.h"
#include "engine/comm/communicator.h"
#include "engine/model/status_error.h"

namespace assay::engine {
namespace {

std::string first_line(std::string_view text) {
  text = Trim(text);
  return std::string(Trim(text.substr(0, text.find('\n'))));
}

/// CUDA, its libraries (cuBLAS, cuDNN) and the C library report exhausted memory in errors of a general type too.
bool mentions_exhausted_memory(std::string_view message) {
  constexpr std::array<std::string_view, 3> kPhrases = {"out of memory", "can't allocate memory",
                                                        "_STATUS_ALLOC_FAILED"};
  return std::ranges::any_of(kPhrases,
                             [&](std::string_view phrase) { return message.find(phrase) != std::string_view::npos; });
}

job::Ended ended(job::EndKind kind, std::string reason) {
  job::Ended event;
  event.kind = kind;
  event.reason = std::move(reason);
  return event;
}

job::Ended out_of_memory(std::string_view where, std::string_view detail) {
  return ended(job::EndKind::kOutOfMemory, fmt::format("out of memory in {}: {}", where, detail));
}

job::Ended from_status(const Status& status, std::string_view where) {
  if (status.code() == ErrorCode::kOutOfMemory) {
    return out_of_memory(where, first_line(status.message()));
  }
  const bool users_mistake = ExitCode(status) == 2;
  return ended(users_mistake ? job::EndKind::kInvalid : job::EndKind::kError, first_line(status.message()));
}

job::Ended unexpected(std::string_view where, std::string_view message) {
  const std::string line = first_line(message);
  return mentions_exhausted_memory(line) ? out_of_memory(where, line)
                                         : ended(job::EndKind::kError, fmt::format("{} failed: {}", where, line));
}

}  // namespace

void throw_if_diverged(const job::Step& step, bool scale_exhausted, std::string_view cure) {
  const auto refuse = [&](std::string_view what, double value) {
    throw Diverged(fmt::format("the {} of step {} is {}: training stopped (use a smaller learning rate{}{})", what,
                               step.step, std::isnan(value) ? "nan" : "infinite", cure.empty() ? "" : ", or ", cure));
  };
  if (!std::isfinite(step.loss)) {
    refuse("loss", step.loss);
  }
  if (!step.skipped && !std::isfinite(step.grad_norm)) {
    refuse("gradient norm", step.grad_norm);
  }
  if (step.skipped && scale_exhausted) {
    throw Diverged(
        fmt::format("the gradients of step {} are not finite even at a loss scale of {:.2g}: training stopped (use {})",
                    step.step, step.loss_scale, cure.empty() ? "a smaller learning rate" : cure));
  }
}

job::Ended describe_failure(std::exception_ptr exception, std::string_view where) {
  try {
    std::rethrow_exception(exception);
  } catch (const StatusError& error) {
    return from_status(error.status(), where);
  } catch (const CannotFit& error) {
    return ended(job::EndKind::kOutOfMemory, error.what());
  } catch (const CommError& error) {
    // Of whichever rank it is: where its memory was out, that is why all end.
    const std::string line = first_line(error.what());
    const bool of_memory = mentions_exhausted_memory(line);
    return ended(of_memory ? job::EndKind::kOutOfMemory : job::EndKind::kError,
                 fmt::format("{} failed: {}", where, line));
  } catch (const Diverged& error) {
    return ended(job::EndKind::kDiverged, first_line(error.what()));
  } catch (const c10::OutOfMemoryError& error) {
    return out_of_memory(where, first_line(error.what_without_backtrace()));
  } catch (const c10::Error& error) {
    return unexpected(where, error.what_without_backtrace());
  } catch (const std::bad_alloc&) {
    return out_of_memory(where, "the system has no memory left for the worker's own data");
  } catch (const std::exception& error) {
    return unexpected(where, error.what());
  }
}

int exit_code(job::EndKind kind) {
  switch (kind) {
    case job::EndKind::kDone:
      return 0;
    case job::EndKind::kInvalid:
    case job::EndKind::kDiverged:
      return 2;
    case job::EndKind::kOutOfMemory:
    case job::EndKind::kError:
      return 1;
  }
  return 1;
}

}  // namespace assay::engine
