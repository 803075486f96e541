// `--config FILE`: the options of a verb out of a YAML file, and as one.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "base/status.h"

namespace assay::cli {

/// What a verb was asked about its configuration.
struct ConfigOptions {
  std::string file;
  bool print = false;
};

/// --config FILE and --print-config. `options` outlives `app`.
void AddConfigOptions(CLI::App& app, ConfigOptions& options);

/// `arguments` (the verb first, then its words) with the options of the file that --config names put behind the verb:
/// those that the command line does not give itself. Without --config, or where the verb has none, as they are. A key
/// is an option's long name without its dashes, and may have underscores for those within it; a list is its values
/// with commas between them, or one by one of an option that may come again; null is no value. Fails with one line, by
/// file and line, for an unknown key, one that comes twice and a value that is none.
Result<std::vector<std::string>> ExpandConfig(const CLI::App& app, std::vector<std::string> arguments);

/// The file that asks for what `app`, which was parsed, was asked for: every option, those that were not given as
/// comments with their defaults.
std::string ConfigText(const CLI::App& app);

}  // namespace assay::cli
