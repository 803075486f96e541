#include "launch/ray/ray_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "launch/agent_submission.h"
#include "launch/worker_program.h"

namespace assay::launch {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kTick(100);

std::string AddressOf(const std::string& given) {
  const char* named = std::getenv("RAY_API_SERVER_ADDRESS");
  std::string address = !given.empty() ? given : named != nullptr && *named != '\0' ? named : "http://127.0.0.1:8265";
  while (address.ends_with('/')) {
    address.pop_back();
  }
  return address.find("://") == std::string::npos ? "http://" + address : address;
}

/// Of one machine of a run.
json ResourcesOf(const RayOptions& options, int64_t ranks, bool on_gpus) {
  json resources = {{"CPU", options.cpus_per_rank * ranks}};
  if (on_gpus) {
    resources["GPU"] = ranks;
  }
  for (const auto& [name, amount] : options.resources) {
    resources[name] = amount;
  }
  return resources;
}

json CommandOf(const job::Plan& plan, const LaunchOptions& launch, const RayOptions& options, const std::string& run,
               const std::string& agent) {
  const job::TrainingPlan& training = job::TrainingOf(plan);
  std::map<std::string, std::string> environment = VariablesElsewhere(launch);
  environment["ASSAY_LIFELINE"] = "1";
  return {{"do", "run"},
          {"run", run},
          {"plan", job::ToJson(plan)},
          {"ranks", training.number_ranks},
          {"nodes", training.number_nodes},
          {"resources", ResourcesOf(options, training.number_ranks / training.number_nodes, training.device == "cuda")},
          {"agent", agent},
          {"arguments", {"--sample-hz", fmt::format("{}", launch.sample_hz)}},
          {"environment", environment}};
}

class RaySubmission : public AgentSubmission {
 public:
  RaySubmission(const job::Plan& plan, const LaunchOptions& options, RayDriver& driver, std::string run)
      : AgentSubmission(plan, options, static_cast<int>(job::TrainingOf(plan).number_nodes)),
        driver_(driver),
        run_(std::move(run)),
        inbox_(driver.Listen(run_)) {}

  ~RaySubmission() override {
    if (!done_) {
      Cancel();
    }
    driver_.Forget(run_);
  }

  Status Follow() override {
    while (!done_) {
      for (const std::string& line : inbox_->Take(kTick)) {
        TakeLine(line);
      }
      if (const std::string why = inbox_->closed(); !why.empty()) {
        LoseAll(why);
        done_ = true;
      }
      Tick(InterruptRequested());
    }
    LoseAll("its agent was not heard to the end");
    return reports().refused();
  }

  void Cancel() override { static_cast<void>(driver_.Send({{"do", "cancel"}, {"run", run_}})); }

 private:
  void TakeLine(const std::string& line) {
    if (reports().Take(line)) {
      return;
    }
    const Result<json> said = ParseJson(line, "the driver");
    if (!said.ok() || !said->is_object()) {
      return;
    }
    const std::string what = said->value("driver", "");
    const std::string why = said->value("why", "");
    if (what == "lost") {
      Lose(said->value("node", 0), why);
    } else if (what == "agent") {
      Lose(said->value("node", 0),
           fmt::format("its agent ended with code {}: {}", said->value("code", 0), said->value("words", "")));
    } else if (what == "failed") {
      LoseAll(why);
    } else if (what == "refused") {
      reports().Refuse(why);
    } else if (what == "unplaceable") {
      NeverStarts(why);
    } else if (what == "done") {
      done_ = true;
    }
  }

  RayDriver& driver_;
  const std::string run_;
  const std::shared_ptr<RayInbox> inbox_;
  bool done_ = false;
};

}  // namespace

Result<std::unique_ptr<Launcher>> RayLauncher::Open(RayOptions options) {
  options.address = AddressOf(options.address);
  ASSAY_ASSIGN_OR_RETURN(auto driver, RayDriver::Start(options.address));
  return std::unique_ptr<Launcher>(new RayLauncher(std::move(options), std::move(driver)));
}

Result<std::unique_ptr<Submission>> RayLauncher::Submit(const job::Plan& plan, const LaunchOptions& options) {
  ASSAY_RETURN_IF_ERROR(RanksOfMachine(job::TrainingOf(plan)).status());
  ASSAY_ASSIGN_OR_RETURN(const std::string agent, FindAgent());
  const std::string run = RandomUid();
  auto submission = std::make_unique<RaySubmission>(plan, options, *driver_, run);
  ASSAY_RETURN_IF_ERROR(driver_->Send(CommandOf(plan, options, options_, run, agent)));
  return std::unique_ptr<Submission>(std::move(submission));
}

int RayLauncher::slots() const {
  return std::max(1, static_cast<int>(driver_->cpus() / static_cast<double>(options_.cpus_per_rank)));
}

Result<std::string> RayLauncher::Ask(const std::vector<std::string>& command) {
  const std::string run = RandomUid();
  const std::shared_ptr<RayInbox> inbox = driver_->Listen(run);
  ASSAY_RETURN_IF_ERROR(driver_->Send(
      {{"do", "ask"}, {"run", run}, {"command", command}, {"resources", ResourcesOf(options_, 1, /*on_gpus=*/false)}}));
  Result<std::string> answer = Status::NotFound("no machine of the cluster answered");
  for (bool done = false; !done;) {
    for (const std::string& line : inbox->Take(kTick)) {
      const Result<json> said = ParseJson(line, "the driver");
      const std::string what = said.ok() && said->is_object() ? said->value("driver", "") : "";
      if (what == "answer" && said->value("code", 1) == 0) {
        answer = said->value("out", "");
      } else if (what == "answer") {
        answer = Status::NotFound(fmt::format("{} ended with code {} on a machine of the cluster: {}", command.front(),
                                              said->value("code", 0), said->value("words", "")));
      } else if (what == "refused" || what == "unplaceable") {
        answer = Status::NotFound(said->value("why", ""));
      }
      done = done || what == "done";
    }
    if (InterruptRequested()) {
      answer = Status::Aborted("interrupted");
      done = true;
    }
    if (const std::string why = inbox->closed(); !why.empty()) {
      answer = answer.ok() ? answer : Status::Io(why);
      done = true;
    }
  }
  driver_->Forget(run);
  return answer;
}

}  // namespace assay::launch
