// Files of operations: what is to be done with a space, as ado declares it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::explore {

/// Which entities of a space a walk looks at, by how many of the space's experiments the store has of them.
enum class EntityFilter {
  kNone,
  kUnmeasured,  ///< none
  kPartial,     ///< one at least, and not all
  kMeasured,    ///< all
};

/// The parameters of ado's random_walk, with its defaults.
struct RandomWalk {
  int64_t entities = 1;                      ///< `numberEntities`; -1: "all"
  int64_t batch_size = 1;                    ///< entities at once, each under all experiments of the space
  bool random = true;                        ///< `mode`: the entities, or their groups, come at random
  std::vector<std::string> grouped_by = {};  ///< `grouping`: properties; empty: the mode is not a grouped one
  bool from_store = true;          ///< `samplerType` selector: only entities that the store has; generator: all
  bool single_measurement = true;  ///< what the store has is replayed
  int64_t max_retries = 0;
  EntityFilter filter = EntityFilter::kNone;
};

/// All points of the space, each so often that its mean has an interval: for what they say beside each other.
struct Characterization {
  int64_t repeats = 3;  ///< valid measurements of each point; what the store has counts
};

struct OperationFile {
  std::string source = {};  ///< file name, for messages
  std::string name = {};    ///< metadata
  std::vector<std::string> spaces = {};
  std::vector<std::string> actuator_configurations = {};  ///< `actuatorConfigurationIdentifiers`
  RandomWalk walk = {};                                   ///< unless it is a characterization
  std::optional<Characterization> characterization = {};
};

/// Errors are kInvalidArgument and name the file and the line: an unknown key with the nearest known one, an operator
/// that is not run here, a document of another kind, a batch larger than the number of entities.
Result<OperationFile> ReadOperationFile(const std::string& path);
Result<OperationFile> ParseOperationFile(std::string_view text, const std::string& source);

}  // namespace assay::explore
