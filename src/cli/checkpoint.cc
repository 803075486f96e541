// assay checkpoint: checkpoints in folders and buckets, in every format. One file a verb below it.
#include <string>
#include <utility>
#include <vector>

#include "cli/checkpoint_verb.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

struct CheckpointVerb {
  const char* name;
  const char* summary;
  Action (*add)(CLI::App& app);
};

constexpr CheckpointVerb kCheckpointVerbs[] = {
    {"ls", "List the checkpoints under a folder or prefix", &AddCheckpointLs},
    {"inspect", "Print what is in a checkpoint", &AddCheckpointInspect},
    {"verify", "Read a checkpoint and say whether it is whole", &AddCheckpointVerify},
    {"convert", "Write a checkpoint in another format, or for another number of ranks", &AddCheckpointConvert},
    {"diff", "Say what differs between two checkpoints, tensor by tensor", &AddCheckpointDiff},
    {"rm", "Remove a checkpoint, all but some, or what crashes left", &AddCheckpointRm},
};

}  // namespace

Action AddCheckpoint(CLI::App& app) {
  app.require_subcommand(1);
  std::vector<std::pair<CLI::App*, Action>> verbs;
  for (const CheckpointVerb& verb : kCheckpointVerbs) {
    CLI::App* sub = app.add_subcommand(verb.name, verb.summary);
    verbs.emplace_back(sub, verb.add(*sub));
  }
  return [verbs = std::move(verbs)] {
    for (const auto& [sub, action] : verbs) {
      if (sub->parsed()) {
        return action();
      }
    }
    return Status::InvalidArgument("which verb? (see assay checkpoint --help)");
  };
}

}  // namespace assay::cli
