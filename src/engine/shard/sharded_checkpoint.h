// Checkpoints that every rank writes its own part of, and that any number of ranks in any strategy can read.
//
// A folder with one safetensors file a rank (those with experts that others do not have write a second one, numbered
// after all of these) and `index.json`:
//   {"version": 1, "ranks": W, "loss_scale": {...},
//    "parameters": {NAME: {"shape": [...], "steps": updates so far,
//                          "pieces": [{"rank": r, "begin": first element, "elements": n}, ...]}}}
// Piece (NAME, begin) of file r is in rank-RRRRR.safetensors as 1-D tensors "weight/NAME@BEGIN" and, of a trainable
// parameter, "first_moment/NAME@BEGIN" and "second_moment/NAME@BEGIN".
#pragma once

#include <string>

#include "engine/shard/shard_engine.h"

namespace assay::engine {

/// Weights as the optimiser has them, moments, step counts and the loss scale. All ranks call it between steps; of
/// replicas the first writes. The index comes last, when all files are there. Throws StatusError.
void save_sharded(ShardEngine& engine, const std::string& folder);

/// Takes everything from `folder`, each rank what it needs. All ranks call it between steps. Throws StatusError with
/// one line when a parameter is not there, has another shape or is not covered by the pieces; the engine is of no use
/// then.
void load_sharded(ShardEngine& engine, const std::string& folder);

}  // namespace assay::engine
