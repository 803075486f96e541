// assay checkpoint: checkpoints in folders and buckets, in every format. One file a verb below it.
#include "cli/checkpoint_verb.h"
#include "cli/verb.h"

namespace assay::cli {
namespace {

constexpr Verb kCheckpointVerbs[] = {
    {"ls", "List the checkpoints under a folder or prefix", &AddCheckpointLs},
    {"inspect", "Print what is in a checkpoint", &AddCheckpointInspect},
    {"verify", "Read a checkpoint and say whether it is whole", &AddCheckpointVerify},
    {"convert", "Write a checkpoint in another format, or for another number of ranks", &AddCheckpointConvert},
    {"diff", "Say what differs between two checkpoints, tensor by tensor", &AddCheckpointDiff},
    {"merge", "Make a LoRA adapter part of the weights of its model", &AddCheckpointMerge},
    {"rm", "Remove a checkpoint, all but some, or what crashes left", &AddCheckpointRm},
};

}  // namespace

Action AddCheckpoint(CLI::App& app) {
  return AddVerbs(app, kCheckpointVerbs);
}

}  // namespace assay::cli
