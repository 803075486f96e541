#include "cli/verb.h"

#include <utility>
#include <vector>

namespace assay::cli {

Action AddVerbs(CLI::App& app, std::span<const Verb> verbs) {
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Action>> added;
  for (const Verb& verb : verbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    added.emplace_back(sub, verb.add(*sub));
  }
  return [added = std::move(added)] {
    for (const auto& [sub, action] : added) {
      if (sub->parsed()) {
        return action();
      }
    }
    return Status::InvalidArgument("which verb? (see --help)");
  };
}

}  // namespace assay::cli
