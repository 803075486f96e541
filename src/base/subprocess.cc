#include "base/subprocess.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "base/line_splitter.h"
#include "base/text.h"

extern char** environ;

namespace assay {
namespace {

constexpr double kTickSeconds = 0.1;
// How long a pipe may stay open in a grandchild's hands after the child itself has ended.
constexpr double kDrainSeconds = 0.5;

// One output of the child. Without a callback there is no pipe.
class OutputStream {
 public:
  OutputStream(FileDescriptor pipe, std::function<void(std::string_view)> on_line)
      : pipe_(std::move(pipe)), lines_(std::move(on_line)) {}

  bool open() const { return pipe_.valid(); }
  int fd() const { return pipe_.get(); }

  // Reads what is there, without waiting; closes at the end of the stream.
  void Read() {
    std::array<char, 64 << 10> block;
    const ssize_t n = RetryOnSignal([&] { return ::read(pipe_.get(), block.data(), block.size()); });
    if (n > 0) {
      owed_bytes_ -= std::min<int64_t>(owed_bytes_, n);
      lines_.Append({block.data(), static_cast<size_t>(n)});
    } else if (n == 0 || errno != EAGAIN) {
      Close();
    } else {
      owed_bytes_ = 0;
    }
  }

  // The child has ended: what the pipe holds now is its own and will be read however long that takes.
  void NoteChildEnded() {
    int waiting = 0;
    if (open() && ::ioctl(pipe_.get(), FIONREAD, &waiting) == 0) {
      owed_bytes_ = waiting;
    }
  }
  bool OwesBytes() const { return open() && owed_bytes_ > 0; }

  void Close() {
    pipe_.Reset();
    lines_.Finish();
  }

 private:
  FileDescriptor pipe_;
  LineSplitter lines_;
  int64_t owed_bytes_ = 0;
};

struct Pipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

Result<Pipe> OpenPipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return ErrnoStatus(errno, "create", "a pipe");
  }
  return Pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

// The C structures of posix_spawn, destroyed with their owner.
class SpawnSettings {
 public:
  SpawnSettings() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;
  ~SpawnSettings() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }

  void RedirectInput(const FileDescriptor& read_end) {
    if (read_end.valid()) {
      ::posix_spawn_file_actions_adddup2(&actions, read_end.get(), STDIN_FILENO);
    } else {
      ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    }
  }

  void RedirectOutput(int fd, const FileDescriptor& write_end) {
    if (write_end.valid()) {
      ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), fd);
    } else {
      ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    }
  }

  // The child starts with default signal handling and its own group, whatever we have set for ourselves.
  void SetSignalsAndGroup(bool new_process_group) {
    sigset_t all;
    sigset_t none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    if (new_process_group) {
      ::posix_spawnattr_setpgroup(&attributes, 0);
      flags |= POSIX_SPAWN_SETPGROUP;
    }
    ::posix_spawnattr_setflags(&attributes, flags);
  }

  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
};

std::vector<std::string> MergedEnvironment(const std::map<std::string, std::string>& additions) {
  std::vector<std::string> merged;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (!additions.contains(std::string(text.substr(0, text.find('='))))) {
      merged.emplace_back(text);
    }
  }
  for (const auto& [name, value] : additions) {
    merged.push_back(name + "=" + value);
  }
  return merged;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

Result<pid_t> Spawn(const SubprocessOptions& options, const FileDescriptor& in, const FileDescriptor& out,
                    const FileDescriptor& err) {
  SpawnSettings settings;
  settings.RedirectInput(in);
  settings.RedirectOutput(STDOUT_FILENO, out);
  settings.RedirectOutput(STDERR_FILENO, err);
  if (!options.working_directory.empty()) {
    ::posix_spawn_file_actions_addchdir_np(&settings.actions, options.working_directory.c_str());
  }
  settings.SetSignalsAndGroup(options.new_process_group);

  std::vector<std::string> arguments = options.argv;
  std::vector<std::string> environment = MergedEnvironment(options.environment);
  std::string program = options.argv[0];
  if (program.find('/') != std::string::npos) {
    program = std::filesystem::absolute(program).string();  // it is looked up after the change of folder
  }
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, program.c_str(), &settings.actions, &settings.attributes,
                                   Pointers(arguments).data(), Pointers(environment).data());
  if (error != 0) {
    return ErrnoStatus(error, "start", options.argv[0]);
  }
  return pid;
}

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

ProcessEnd ToProcessEnd(int wait_status, const rusage& usage) {
  ProcessEnd end;
  end.cpu_seconds = Seconds(usage.ru_utime) + Seconds(usage.ru_stime);
  end.max_rss_bytes = int64_t{usage.ru_maxrss} << 10;
  end.exited = WIFEXITED(wait_status);
  end.exit_code = end.exited ? WEXITSTATUS(wait_status) : 0;
  end.signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
  return end;
}

}  // namespace

std::string ProcessEnd::Describe() const {
  if (exited) {
    return fmt::format("exit code {}", exit_code);
  }
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? fmt::format("killed by signal {} (SIG{})", signal, name)
                         : fmt::format("killed by signal {}", signal);
}

struct Subprocess::State {
  pid_t pid = -1;
  bool owns_group = false;
  bool ends_on_interrupt = true;
  std::function<void()> on_tick;
  std::vector<OutputStream> outputs;
  FileDescriptor lifeline;  // open as long as we live
  FileDescriptor channel;
  FileDescriptor pid_handle;  // invalid where the kernel has no pidfd
  std::mutex mutex;           // guards `end` against a Kill from another thread
  std::optional<ProcessEnd> end;

  // The process exists, perhaps as a zombie, until `end` is set, so its number cannot be another's.
  void Signal(int number) {
    const std::lock_guard lock(mutex);
    if (!end) {
      ::kill(owns_group ? -pid : pid, number);
    }
  }

  bool HasEnded() const {
    siginfo_t info = {};
    return RetryOnSignal([&] { return ::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT); }) !=
               0 ||
           info.si_pid == pid;
  }

  // Of a child that has ended, or was killed: nobody waits long for the lock.
  Status Reap() {
    int wait_status = 0;
    rusage usage = {};
    const std::lock_guard lock(mutex);
    const pid_t reaped = RetryOnSignal([&] { return ::wait4(pid, &wait_status, 0, &usage); });
    const int error = errno;
    end = ToProcessEnd(wait_status, usage);
    return reaped == pid ? Status::Ok() : ErrnoStatus(error, "wait for", fmt::format("process {}", pid));
  }

  bool AnyOpen() const {
    return std::any_of(outputs.begin(), outputs.end(), [](const OutputStream& o) { return o.open(); });
  }
  bool AnyOwesBytes() const {
    return std::any_of(outputs.begin(), outputs.end(), [](const OutputStream& o) { return o.OwesBytes(); });
  }

  // Waits for output, and for the child's end where that can be waited for; reads what came.
  void PollOnce(double seconds, bool watch_end) {
    std::vector<pollfd> polled;
    for (const OutputStream& output : outputs) {
      polled.push_back({output.fd(), POLLIN, 0});  // poll skips a closed one, whose number is negative
    }
    if (watch_end) {
      polled.push_back({pid_handle.get(), POLLIN, 0});
    }
    if (::poll(polled.data(), polled.size(), std::max(0, static_cast<int>(seconds * 1000))) <= 0) {
      return;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (polled[i].revents != 0) {
        outputs[i].Read();
      }
    }
  }

  void WaitForEnd(double grace_seconds);
  void Drain();
};

namespace {

// Turns a request to interrupt into SIGTERM at once and SIGKILL after a grace.
class Terminator {
 public:
  explicit Terminator(double grace_seconds) : grace_seconds_(grace_seconds) {}

  // The signal to send now; 0: none.
  int SignalDue(double now) {
    if (!InterruptRequested() || killed_) {
      return 0;
    }
    if (deadline_ < 0) {
      deadline_ = now + grace_seconds_;
      return SIGTERM;
    }
    killed_ = now >= deadline_;
    return killed_ ? SIGKILL : 0;
  }
  bool interrupted() const { return deadline_ >= 0; }

 private:
  double grace_seconds_;
  double deadline_ = -1;
  bool killed_ = false;
};

}  // namespace

void Subprocess::State::WaitForEnd(double grace_seconds) {
  Terminator terminator(grace_seconds);
  // Without a pidfd the end of a child that has closed its outputs shows only when one looks.
  const double nap = pid_handle.valid() ? kTickSeconds : kTickSeconds / 10;
  double next_tick = MonotonicSeconds() + kTickSeconds;
  while (!HasEnded()) {
    PollOnce(std::min(nap, next_tick - MonotonicSeconds() + 1e-3), true);
    const double now = MonotonicSeconds();
    if (const int signal = ends_on_interrupt ? terminator.SignalDue(now) : 0; signal != 0) {
      Signal(signal);
    }
    if (now >= next_tick) {
      next_tick = now + kTickSeconds;
      if (on_tick) {
        on_tick();
      }
    }
  }
  if (terminator.interrupted() && owns_group) {
    Signal(SIGKILL);  // what is left of the group
  }
}

void Subprocess::State::Drain() {
  for (OutputStream& output : outputs) {
    output.NoteChildEnded();
  }
  const double deadline = MonotonicSeconds() + kDrainSeconds;
  while (AnyOwesBytes() || (AnyOpen() && MonotonicSeconds() < deadline)) {
    PollOnce(deadline - MonotonicSeconds(), false);
  }
  for (OutputStream& output : outputs) {
    if (output.open()) {
      output.Close();
    }
  }
}

Subprocess::Subprocess(std::unique_ptr<State> state) : state_(std::move(state)), pid_(state_->pid) {}
Subprocess::Subprocess(Subprocess&&) noexcept = default;

Subprocess::~Subprocess() {
  if (state_ != nullptr && !state_->end) {
    state_->Signal(SIGKILL);
    static_cast<void>(state_->Reap());
  }
}

Result<Subprocess> Subprocess::Start(SubprocessOptions options) {
  if (options.argv.empty()) {
    return Status::Internal("cannot start a process: no program is named");
  }
  if (!options.working_directory.empty() && !IsDirectory(options.working_directory)) {
    return ErrnoStatus(FileExists(options.working_directory) ? ENOTDIR : ENOENT, "start a process in",
                       options.working_directory);
  }
  auto state = std::make_unique<State>();
  FileDescriptor write_ends[2];
  std::function<void(std::string_view)>* const callbacks[] = {&options.on_stdout_line, &options.on_stderr_line};
  for (int i = 0; i < 2; ++i) {
    if (*callbacks[i]) {
      ASSAY_ASSIGN_OR_RETURN(Pipe pipe, OpenPipe());
      ::fcntl(pipe.read_end.get(), F_SETFL, O_NONBLOCK);
      state->outputs.emplace_back(std::move(pipe.read_end), std::move(*callbacks[i]));
      write_ends[i] = std::move(pipe.write_end);
    }
  }
  FileDescriptor input;
  if (options.lifeline) {
    ASSAY_ASSIGN_OR_RETURN(Pipe pipe, OpenPipe());
    input = std::move(pipe.read_end);
    state->lifeline = std::move(pipe.write_end);
  }
  if (options.channel) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return ErrnoStatus(errno, "create", "a socket");
    }
    state->channel.Reset(ends[0]);
    input.Reset(ends[1]);
    write_ends[0].Reset(::fcntl(ends[1], F_DUPFD_CLOEXEC, 0));
  }
  ASSAY_ASSIGN_OR_RETURN(state->pid, Spawn(options, input, write_ends[0], write_ends[1]));
  state->owns_group = options.new_process_group;
  state->ends_on_interrupt = options.ends_on_interrupt;
  state->on_tick = std::move(options.on_tick);
  state->pid_handle.Reset(static_cast<int>(::syscall(SYS_pidfd_open, state->pid, 0)));
  return Subprocess(std::move(state));
}

Result<ProcessEnd> Subprocess::Wait(double grace_seconds) {
  if (!state_->end) {
    state_->WaitForEnd(grace_seconds);
    state_->Drain();
    ASSAY_RETURN_IF_ERROR(state_->Reap());
  }
  return *state_->end;
}

const FileDescriptor& Subprocess::channel() const {
  return state_->channel;
}

void Subprocess::Kill(int signal) {
  state_->Signal(signal);
}

}  // namespace assay
