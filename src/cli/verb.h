// The verbs of `assay`: one file each, listed in the table of main.cc.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>

#include "base/status.h"

namespace assay::cli {

/// What a verb does once its options have been read.
using Action = std::function<Status()>;

/// A row of a table of verbs. `add` declares the verb's options and returns its action.
struct Verb {
  const char* name;
  const char* summary;
  Action (*add)(CLI::App& app);
};

/// Adds a table of verbs below `app`, one of which must be given: the action is that one's.
Action AddVerbs(CLI::App& app, std::span<const Verb> verbs);

/// Each declares its options on `app` and returns its action. Options live in the action's own storage.
Action AddTune(CLI::App& app);
Action AddGenerate(CLI::App& app);
Action AddRun(CLI::App& app);
Action AddExplore(CLI::App& app);
Action AddResults(CLI::App& app);
Action AddForget(CLI::App& app);
Action AddOperations(CLI::App& app);
Action AddStore(CLI::App& app);
Action AddReport(CLI::App& app);
Action AddServe(CLI::App& app);
Action AddRecommend(CLI::App& app);
Action AddCompare(CLI::App& app);
Action AddExperiments(CLI::App& app);
Action AddModel(CLI::App& app);
Action AddDatasets(CLI::App& app);
Action AddData(CLI::App& app);
Action AddObject(CLI::App& app);
Action AddCheckpoint(CLI::App& app);
Action AddDoctor(CLI::App& app);

}  // namespace assay::cli
