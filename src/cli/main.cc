// The controller's entry: picks the verb, runs it, prints one line when it fails.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "base/subprocess.h"
#include "base/terminal.h"
#include "cli/run_config.h"
#include "cli/verb.h"
#include "version.h"

namespace assay::cli {
namespace {

constexpr Verb kVerbs[] = {
    {"tune", "Train or fine-tune a model on your data: a language model, or a vision transformer", &AddTune},
    {"generate", "Let a language model go on with a text", &AddGenerate},
    {"run", "Measure one point of an experiment", &AddRun},
    {"explore", "Measure every point of a discovery space", &AddExplore},
    {"results", "Print what has been measured", &AddResults},
    {"operations", "List what was explored: when, how it ended, what it measured", &AddOperations},
    {"forget", "Remove measurements from a store", &AddForget},
    {"store", "Copy a store into another one, or into files and back", &AddStore},
    {"report", "Write what has been measured as one HTML file", &AddReport},
    {"serve", "Show what has been measured, and what is being measured, to browsers", &AddServe},
    {"recommend", "Say which configuration is fastest within a memory cap", &AddRecommend},
    {"compare", "Say what became faster or slower between two stores, commits or machines", &AddCompare},
    {"experiments", "Describe the experiments: properties, domains, defaults, targets", &AddExperiments},
    {"model", "Models: those that have a name, and how to fetch one", &AddModel},
    {"datasets", "List the data sets that have a name", &AddDatasets},
    {"data", "Data sets as shards: convert, check, stream", &AddData},
    {"object", "Objects in buckets: copy, list, check; and a server to test against", &AddObject},
    {"checkpoint", "Checkpoints of every format: list, check, convert, compare", &AddCheckpoint},
    {"doctor", "Describe this machine and measure its ceilings", &AddDoctor},
};

constexpr char kFooter[] =
    "Each verb explains itself: assay VERB --help.\n"
    "Exit codes: 0 done, 1 a run failed, 2 a mistake in what was asked, 130 interrupted.";

/// Text that CLI11 gives for a malformed command line, as one line of ours.
int ReportUsageError(const CLI::App& app, const CLI::ParseError& error) {
  std::string name = "assay";
  for (const CLI::App* verb = &app; !verb->get_subcommands().empty();) {
    verb = verb->get_subcommands().back();
    name += ' ' + verb->get_name();
  }
  fmt::print(stderr, "{}: {} (see {} --help)\n", name, error.what(), name);
  return 2;
}

/// A word where a verb is expected that is none; CLI11 would only say that a verb is missing. Ok without one.
Status CheckVerbs(CLI::App& app, int argc, char** argv) {
  CLI::App* at = &app;
  for (int i = 1; i < argc && argv[i][0] != '-'; ++i) {
    std::vector<std::string> known;
    for (const CLI::App* verb : at->get_subcommands([](const CLI::App*) { return true; })) {
      known.push_back(verb->get_name());
    }
    if (known.empty()) {
      break;
    }
    if (std::ranges::find(known, argv[i]) == known.end()) {
      const std::string nearest = NearestName(argv[i], known);
      return Status::InvalidArgument(fmt::format("there is no verb '{}'{} (see {}{} --help)", argv[i],
                                                 nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest),
                                                 at == &app ? "" : "assay ", at->get_name()));
    }
    at = at->get_subcommand(argv[i]);
  }
  return Status::Ok();
}

/// What was printed may still find no room.
Status FlushOutput() {
  const int problem = std::fflush(stdout) != 0 ? errno : std::ferror(stdout) != 0 ? EIO : 0;
  return problem == 0 ? Status::Ok() : ErrnoStatus(problem, "write", "standard output");
}

int Main(int argc, char** argv) {
  CLI::App app("assay measures fine-tuning and the storage it stands on.", "assay");
  app.footer(kFooter);
  app.set_version_flag("--version", fmt::format("assay {} (commit {}, libtorch {})", kVersion, kCommit, kTorchVersion));
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  const Action action = AddVerbs(app, kVerbs);
  if (const Status known = CheckVerbs(app, argc, argv); !known.ok()) {
    fmt::print(stderr, "assay: {}\n", OneLine(known.message()));
    return ExitCode(known);
  }
  Result<std::vector<std::string>> arguments = ExpandConfig(app, {argv + 1, argv + argc});
  if (!arguments.ok()) {
    fmt::print(stderr, "assay {}: {}\n", argv[1], OneLine(arguments.status().message()));
    return ExitCode(arguments.status());
  }
  try {
    std::ranges::reverse(*arguments);  // as CLI11 takes them
    app.parse(std::move(*arguments));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);
    }
    return ReportUsageError(app, error);
  }
  InstallInterruptHandler();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files then fails the write, as a full disk does
  Status status = action();
  if (status.ok()) {
    status = FlushOutput();
  }
  if (!status.ok()) {
    // A key may hold a newline.
    fmt::print(stderr, "assay {}: {}\n", app.get_subcommands().front()->get_name(), OneLine(status.message()));
  }
  return ExitCode(status);
}

}  // namespace
}  // namespace assay::cli

int main(int argc, char** argv) {
  return assay::cli::Main(argc, argv);
}
