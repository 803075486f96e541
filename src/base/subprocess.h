// Child processes: started, watched line by line, and always reaped.
#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace assay {

/// How a child ended.
struct ProcessEnd {
  bool exited = false;  ///< by exit(); else by a signal
  int exit_code = 0;
  int signal = 0;
  /// "exit code 3", "killed by signal 9 (SIGKILL)"
  std::string Describe() const;
};

struct SubprocessOptions {
  std::vector<std::string> argv;              ///< argv[0] is looked up in PATH when it has no slash
  std::map<std::string, std::string> environment;  ///< added to ours
  std::string working_directory;              ///< empty: ours
  std::function<void(std::string_view)> on_stdout_line;  ///< without the newline; called from Wait's thread
  std::function<void(std::string_view)> on_stderr_line;
  std::function<void()> on_tick;              ///< about every 100 ms while waiting
  bool new_process_group = true;              ///< so that a terminal's Ctrl-C reaches only us, and Kill reaches grandchildren
};

class Subprocess {
 public:
  static Result<Subprocess> Start(SubprocessOptions options);
  Subprocess(Subprocess&&) noexcept;
  Subprocess& operator=(Subprocess&&) = delete;
  /// Kills and reaps the child if it is still running.
  ~Subprocess();

  pid_t pid() const { return pid_; }
  /// Delivers output until the child has ended and both pipes are drained, or until InterruptRequested(); on the latter
  /// the child gets SIGTERM, and SIGKILL after `grace_seconds`.
  Result<ProcessEnd> Wait(double grace_seconds = 3.0);
  void Kill(int signal);

 private:
  struct State;
  explicit Subprocess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  pid_t pid_ = -1;
};

/// Makes SIGINT and SIGTERM set a flag instead of ending the program; a second SIGINT ends it. Call once from main.
void InstallInterruptHandler();
bool InterruptRequested();

}  // namespace assay
