// Files of actuator configurations: where a machine has what the experiments of ado's SFTTrainer read.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay::space {

struct ActuatorConfiguration {
  std::string source;                         ///< file name, for messages
  std::string data_directory;                 ///< where NAME.jsonl is the data set NAME; empty: not said
  std::string hf_home;                        ///< of the Hugging Face cache; empty: not said
  std::map<std::string, std::string> models;  ///< `model_map`: a name to a folder or an id of Hugging Face
  std::vector<std::string> idle;              ///< what of it does not count here, a line each
};

/// Reads a file as ado has it or as `ado get actuatorconfiguration ID -o yaml` prints it. Relative folders begin at its
/// own; "~" is the user's. kInvalidArgument names the file and the line: another kind of file, an unknown key with the
/// nearest known one, an actuator whose experiments are not here.
Result<ActuatorConfiguration> ReadActuatorConfiguration(const std::string& path);
Result<ActuatorConfiguration> ParseActuatorConfiguration(std::string_view text, const std::string& source);

/// The folder that `target` of a `model_map` names, a relative one from the file's own; empty where there is none.
std::string ModelFolderOf(const ActuatorConfiguration& configuration, const std::string& target);

}  // namespace assay::space
