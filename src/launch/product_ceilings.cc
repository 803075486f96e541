#include "launch/product_ceilings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/subprocess.h"
#include "job/lifeline.h"
#include "launch/worker_program.h"

namespace assay::launch {

Result<nlohmann::json> MeasureProductCeilings(int64_t threads) {
  ASSAY_ASSIGN_OR_RETURN(const std::string worker, FindWorker());
  std::string output;
  SubprocessOptions options;
  options.argv = {worker, "--ceilings"};
  options.lifeline = true;
  options.environment = {{std::string(job::kLifelineVariable), "1"}};
  if (threads > 0) {
    options.environment["OMP_NUM_THREADS"] = std::to_string(threads);
    options.environment["MKL_NUM_THREADS"] = std::to_string(threads);
  }
  options.on_stdout_line = [&output](std::string_view line) { output += line; };
  ASSAY_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Start(std::move(options)));
  ASSAY_ASSIGN_OR_RETURN(const ProcessEnd end, process.Wait());
  if (InterruptRequested()) {
    return Status::Aborted("interrupted while measuring matrix products");
  }
  if (!end.exited || end.exit_code != 0) {
    return Status::Internal(
        fmt::format("{} --ceilings ended with {}: run it by hand to see why", worker, end.Describe()));
  }
  return ParseJson(output, worker + " --ceilings");
}

}  // namespace assay::launch
