// assay object: objects in buckets, and the server to test against. One file a verb below it.
#include <string>
#include <utility>
#include <vector>

#include "cli/object_verb.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

struct ObjectVerb {
  const char* name;
  const char* summary;
  Action (*add)(CLI::App& app);
};

constexpr ObjectVerb kObjectVerbs[] = {
    {"serve", "Serve a folder or memory as S3, Google Cloud Storage and OCI", &AddObjectServe},
};

}  // namespace

Action AddObject(CLI::App& app) {
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Action>> verbs;
  for (const ObjectVerb& verb : kObjectVerbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    verbs.emplace_back(sub, verb.add(*sub));
  }
  return [verbs = std::move(verbs)] {
    for (const auto& [sub, action] : verbs) {
      if (sub->parsed()) {
        return action();
      }
    }
    return Status::InvalidArgument("which verb? (see assay object --help)");
  };
}

}  // namespace assay::cli
