// assay-worker: one rank of one run. Events go to standard output as JSON lines, text for people to standard error.
#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "engine/comm/rank_environment.h"
#include "engine/kernels/ceilings.h"
#include "engine/kernels/memory.h"
#include "engine/train/device.h"
#include "engine/train/event_writer.h"
#include "engine/train/failure.h"
#include "engine/train/run.h"
#include "engine/train/termination.h"
#include "job/controller_watch.h"
#include "job/plan.h"
#include "version.h"

namespace assay::engine {
namespace {

constexpr char kUsage[] =
    "usage: assay-worker --plan FILE | --ceilings | --version\n"
    "\n"
    "  --plan FILE  carry out the plan in FILE; events go to standard output as JSON lines\n"
    "  --ceilings   measure this machine's matrix products and print them as JSON\n"
    "  --version    print the version, the commit and libtorch's version\n"
    "\n"
    "assay starts this program; to run a fine-tune by hand, use `assay tune`.\n";

Result<job::Plan> read_plan(const std::string& path) {
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json json, ReadJsonFile(path));
  Result<job::Plan> plan = job::PlanFromJson(json);
  return plan.ok() ? plan : plan.status().WithContext(path);
}

/// Of ranks that carried out a plan together only the first says so.
bool is_reported(const job::Ended& ended) {
  const Result<RankEnvironment> environment = read_rank_environment();
  return ended.kind != job::EndKind::kDone || !environment.ok() || environment->rank == 0;
}

/// Standard output belongs to the events alone: what libraries print there goes to standard error instead.
int take_standard_output() {
  const int events_fd = ::dup(STDOUT_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  return events_fd;
}

[[noreturn]] void run(const std::string& plan_path, double start_seconds) {
  std::signal(SIGPIPE, SIG_IGN);
  EventWriter events(take_standard_output());
  TerminationWatcher termination(events);
  job::EndWithController();
  job::Ended ended;
  try {
    if (Result<job::Plan> plan = read_plan(plan_path); plan.ok()) {
      ended = run_plan(*plan, events, termination, start_seconds);
    } else {
      ended.kind = job::EndKind::kInvalid;
      ended.reason = plan.status().message();
    }
  } catch (const ControllerGone&) {
    ::_exit(ExitCode(Status::Aborted("")));
  }
  if (ended.kind != job::EndKind::kDone) {
    std::fprintf(stderr, "assay-worker: %s\n", ended.reason.c_str());
  }
  // Without the library's exit handlers the process ends 60 ms sooner; the event is the last thing it has to say.
  const auto lock = termination.defer();
  if (!is_reported(ended)) {
    ::_exit(exit_code(ended.kind));
  }
  events.write_last_and_exit(ended, exit_code(ended.kind));
}

nlohmann::json ceilings_json() {
  const c10::Device device = select_device("auto");
  nlohmann::json products = nlohmann::json::array();
  for (const ProductCeiling& product : MeasureProductCeilings(device)) {
    products.push_back(
        {{"dtype", product.dtype}, {"tflops", product.tflops}, {"m", product.m}, {"k", product.k}, {"n", product.n}});
  }
  nlohmann::json ceilings = {{"device", device.str()}, {"threads", at::get_num_threads()}, {"products", products}};
  if (device.is_cuda()) {
    ceilings["device_copy_gb_per_s"] = MeasureCopyBandwidth(device);
  }
  return ceilings;
}

int print_ceilings() {
  job::EndWithController();
  try {
    std::puts(DumpJson(ceilings_json()).c_str());
    return 0;
  } catch (const std::exception&) {
    const job::Ended ended = describe_failure(std::current_exception(), "measuring ceilings");
    std::fprintf(stderr, "assay-worker: %s\n", ended.reason.c_str());
    return exit_code(ended.kind);
  }
}

int usage_error(const std::string& message) {
  std::fprintf(stderr, "assay-worker: %s\n%s", message.c_str(), kUsage);
  return 2;
}

int dispatch(const std::vector<std::string>& arguments, double start_seconds) {
  if (arguments.size() == 2 && arguments[0] == "--plan") {
    run(arguments[1], start_seconds);
  }
  if (arguments.size() != 1) {
    return usage_error(arguments.empty() ? "nothing to do" : "expected one option");
  }
  if (arguments[0] == "--version") {
    std::puts(fmt::format("assay-worker {} (commit {}, libtorch {})", kVersion, kCommit, kTorchVersion).c_str());
    return 0;
  }
  if (arguments[0] == "--help") {
    std::fputs(kUsage, stdout);
    return 0;
  }
  if (arguments[0] == "--ceilings") {
    return print_ceilings();
  }
  return usage_error(arguments[0] == "--plan" ? "--plan needs a file"
                                              : fmt::format("unknown option '{}'", arguments[0]));
}

}  // namespace
}  // namespace assay::engine

int main(int argc, char** argv) {
  const double start_seconds = assay::MonotonicSeconds();
  assay::engine::InstallCountingAllocator();
  return assay::engine::dispatch({argv + 1, argv + argc}, start_seconds);
}
