// What an outcome depends on: it says something only where that is the same.
#pragma once

#include <map>
#include <string>

namespace assay::samplestore {

/// Names of Measurement::depends_on. Provenance has entries of the same names.
inline constexpr char kMachine[] = "machine";              ///< processor, cores, memory and GPUs, as MachineKind() says
inline constexpr char kLibtorch[] = "libtorch";            ///< its version
inline constexpr char kCommit[] = "commit";                ///< of the programs
inline constexpr char kSettings[] = "settings";            ///< of the environment that change a run's speed
inline constexpr char kPointsAtOnce[] = "points_at_once";  ///< that share the machine
inline constexpr char kModelHash[] = "model_hash";
inline constexpr char kDataHash[] = "data_hash";
inline constexpr char kTokenizerHash[] = "tokenizer_hash";
/// Of a verdict without a run the same as kCommit and kMachine, under names of their own: such a verdict is compared
/// with them even where runs are not. Provenance has no such entries.
inline constexpr char kJudgedBy[] = "judged_by";
inline constexpr char kJudgedOn[] = "judged_on";

/// What holds here and now, by name. What it does not name is not compared.
using Facts = std::map<std::string, std::string>;

/// Whether what depends on `depends_on` holds where `here` does.
bool Agrees(const Facts& depends_on, const Facts& here);

/// Whether what is invalid, and depends on `depends_on`, says what found it so: a run, which has its libtorch, or the
/// programs that judged without one. Verdicts of older programs do not say it, or say it by a name that is compared of
/// runs alone: they hold nowhere, as to judge again costs nothing.
bool SaysWhatJudged(const Facts& depends_on);

/// "AMD EPYC 9B45, 2 cores, 23.5 GiB, 2 x NVIDIA H200" out of the provenance entries cpu, cores, memory and gpu: one
/// name for all machines of a kind. Empty when they are not there.
std::string MachineKind(const std::map<std::string, std::string>& provenance);

}  // namespace assay::samplestore
