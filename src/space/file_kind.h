// The kinds of YAML files of a discovery that people have, told apart by what only each of them has.
#pragma once

#include "base/status.h"
#include "base/yaml.h"

namespace assay::space {

/// The kinds of ado's resources, and the point of its run_experiment.
enum class FileKind { kSpace, kOperation, kActuatorConfiguration, kSampleStore, kContext, kPoint };

/// kInvalidArgument where the document `root` is plainly of another kind than `wanted`: what it is, and which command
/// takes it. Ok where it is of that kind or of none: whoever reads it says what is wrong with it.
Status CheckKind(const YamlNode& root, FileKind wanted);

}  // namespace assay::space
