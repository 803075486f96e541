// Child processes: started, watched line by line, and always reaped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_descriptor.h"
#include "base/status.h"

namespace assay {

/// How a child ended.
struct ProcessEnd {
  bool exited = false;  ///< by exit(); else by a signal
  int exit_code = 0;
  int signal = 0;
  double cpu_seconds = 0;  ///< user and system time of the child and the grandchildren it waited for
  /// Largest resident set of the child. The kernel counts the memory of the program that started it too, so this is
  /// right for a child that grows beyond us.
  int64_t max_rss_bytes = 0;
  /// "exit code 3", "killed by signal 9 (SIGKILL)"
  std::string Describe() const;
};

struct SubprocessOptions {
  std::vector<std::string> argv;                   ///< argv[0] is looked up in PATH when it has no slash
  std::map<std::string, std::string> environment;  ///< added to ours
  std::string working_directory;                   ///< empty: ours
  /// Each line without its newline, called from Wait's thread; empty: the output is discarded. A line beyond 16 MiB
  /// comes in pieces.
  std::function<void(std::string_view)> on_stdout_line;
  std::function<void(std::string_view)> on_stderr_line;
  std::function<void()> on_tick;  ///< about every 100 ms while waiting
  /// The child's standard input is a pipe that nothing is written to: it ends when we do, whatever ended us.
  bool lifeline = false;
  /// The child's standard input and output are one socket, whose other end is channel(): neither on_stdout_line nor
  /// lifeline goes with it.
  bool channel = false;
  bool ends_on_interrupt = true;  ///< as Wait says; else it goes on, for who started it on Ctrl-C
  bool new_process_group = true;  ///< so that a terminal's Ctrl-C reaches only us, and Kill reaches grandchildren
};

/// A running child. Its standard input is empty, a lifeline or a channel. Wait belongs to one thread; Kill and pid may
/// be called from any.
class Subprocess {
 public:
  /// Fails at once when the program cannot be started.
  static Result<Subprocess> Start(SubprocessOptions options);
  Subprocess(Subprocess&&) noexcept;
  Subprocess& operator=(Subprocess&&) = delete;
  /// Kills and reaps the child if it is still running.
  ~Subprocess();

  pid_t pid() const { return pid_; }
  /// Of a child that was started with one.
  const FileDescriptor& channel() const;
  /// Delivers output until the child has ended and both pipes are drained, or until InterruptRequested(); on the latter
  /// the child (and its group) gets SIGTERM, and SIGKILL after `grace_seconds`. A grandchild that keeps a pipe open
  /// delays the return by half a second at most. A second call returns the same end.
  Result<ProcessEnd> Wait(double grace_seconds = 3.0);
  void Kill(int signal);

 private:
  struct State;
  explicit Subprocess(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
  pid_t pid_ = -1;
};

/// Makes SIGINT, SIGTERM and SIGHUP set a flag instead of ending the program; a second SIGINT ends it. SIGHUP stays
/// ignored where it is (nohup). Call once from main.
void InstallInterruptHandler();
bool InterruptRequested();

}  // namespace assay
