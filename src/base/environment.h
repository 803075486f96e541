// What the process was started with: its variables and its user.
#pragma once

#include <string>

namespace assay {

/// Empty where the environment has no variable `name`.
std::string EnvironmentText(const char* name);

/// $HOME, else what the system has for the user, else /tmp.
std::string HomeDirectory();

}  // namespace assay
