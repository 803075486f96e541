#include "base/subprocess.h"
#include "experiment/connector/connector.h"

namespace assay::experiment {

Result<std::string> LibrariesOf(const ConnectorInfo& connector, const std::string& share_dir) {
  if (connector.is_ours) {
    return std::string();
  }
  std::string libraries;
  SubprocessOptions options;
  options.argv = {share_dir + "/peers/connector-worker", "--versions", connector.name};
  options.on_stdout_line = [&](std::string_view line) { libraries = line; };
  ASSAY_ASSIGN_OR_RETURN(Subprocess process, Subprocess::Start(std::move(options)));
  ASSAY_ASSIGN_OR_RETURN(const ProcessEnd end, process.Wait());
  return end.exited && end.exit_code == 0 ? libraries : std::string();
}

}  // namespace assay::experiment
