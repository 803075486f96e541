#include "cli/launcher_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/options.h"
#include "launch/worker_program.h"

namespace assay::cli {
namespace {

using launch::Launcher;

std::string CheckResource(const std::string& text) {
  const size_t equals = text.find('=');
  double amount = 0;
  const bool fine = equals != std::string::npos && equals > 0 &&
                    CLI::detail::lexical_cast(text.substr(equals + 1), amount) && std::isfinite(amount) && amount > 0;
  return fine ? std::string() : fmt::format("must be NAME=AMOUNT, not '{}'", text);
}

void TakeResources(const std::vector<std::string>& texts, std::map<std::string, double>& resources) {
  resources.clear();
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    CLI::detail::lexical_cast(text.substr(equals + 1), resources[text.substr(0, equals)]);
  }
}

/// What the machines say of themselves where ranks would run.
Result<explore::ProvenanceMap> DescribeMachines(Launcher& launcher) {
  ASSAY_ASSIGN_OR_RETURN(const std::string agent, launch::FindAgent());
  ASSAY_ASSIGN_OR_RETURN(const std::string text, launcher.Ask({agent, "--describe"}));
  ASSAY_ASSIGN_OR_RETURN(const nlohmann::json facts, ParseJson(text, "assay-agent --describe"));
  explore::ProvenanceMap provenance;
  for (const auto& [name, value] : facts.items()) {
    provenance[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return provenance;
}

explore::CeilingsFunction CeilingsOf(const std::shared_ptr<Launcher>& launcher) {
  return [launcher](int64_t) -> Result<nlohmann::json> {
    ASSAY_ASSIGN_OR_RETURN(const std::string worker, launch::FindWorker());
    ASSAY_ASSIGN_OR_RETURN(const std::string text, launcher->Ask({worker, "--ceilings"}));
    return ParseJson(text, "assay-worker --ceilings");
  };
}

}  // namespace

void AddLauncherOptions(CLI::App& app, launch::LauncherSettings& settings) {
  std::vector<std::string> names;
  std::string help = "Who starts the ranks:";
  for (const launch::LauncherKind& kind : launch::LauncherKinds()) {
    help += fmt::format("{} {} ({})", names.empty() ? "" : ",", kind.name, kind.summary);
    names.emplace_back(kind.name);
  }
  app.add_option("--launcher", settings.kind, help)->check(CLI::IsMember(names))->capture_default_str();
  app.add_option("--address", settings.address, "Where the launcher's service answers")->type_name("URL");
  app.add_option("--cpus-per-rank", settings.cpus_per_rank,
                 "CPUs that a launcher of other machines sets aside for a rank, which has as many threads [1]")
      ->check(WholeNumber(1, 4096));
  app.add_option_function<std::vector<std::string>>(
         "--resource", [&settings](const std::vector<std::string>& texts) { TakeResources(texts, settings.resources); },
         "What else each machine of a run must have, as the cluster names it; may be repeated")
      ->type_name("NAME=AMOUNT")
      ->check(CLI::Validator(CheckResource, ""))
      ->take_all();
}

Result<int> UseLauncher(const launch::LauncherSettings& settings, explore::MeasureOptions& measure) {
  ASSAY_ASSIGN_OR_RETURN(std::shared_ptr<Launcher> launcher, launch::OpenLauncher(settings));
  measure.runner = [launcher](const job::Plan& plan, const launch::LaunchOptions& options) {
    return launcher->Run(plan, options);
  };
  if (!launcher->runs_here()) {
    ASSAY_ASSIGN_OR_RETURN(explore::ProvenanceMap facts, DescribeMachines(*launcher));
    measure.context.elsewhere = facts["host"];
    measure.context.threads_per_rank = std::max<int64_t>(1, settings.cpus_per_rank);
    measure.context.threads = measure.context.threads_per_rank;
    measure.host = std::make_shared<const explore::Host>(explore::Host::Of(std::move(facts)));
    measure.ceilings = CeilingsOf(launcher);
  }
  return launcher->slots();
}

}  // namespace assay::cli
