#include "base/process_identity.h"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace assay {
namespace {

// Fields of /proc/PID/stat from the third on: the command name before them may hold spaces and brackets.
std::vector<std::string> FieldsOf(std::string_view stat) {
  const size_t name_end = stat.rfind(')');
  return name_end == std::string_view::npos ? std::vector<std::string>() : Split(Trim(stat.substr(name_end + 1)), ' ');
}

// Empty where there is none.
std::string StartTime(const std::vector<std::string>& fields) {
  constexpr size_t kStartTime = 19;
  return fields.size() > kStartTime ? fields[kStartTime] : "";
}

// Empty where it cannot be read.
std::string StatOf(std::string_view pid) {
  const Result<std::string> stat = ReadFile(fmt::format("/proc/{}/stat", pid));
  return stat.ok() ? *stat : "";
}

// 0: somebody is there.
int KillError(std::string_view pid) {
  pid_t number = 0;
  const bool is_number = std::from_chars(pid.data(), pid.data() + pid.size(), number).ec == std::errc();
  return is_number && kill(number, 0) != 0 ? errno : 0;
}

}  // namespace

std::string ProcessStart() {
  return StartTime(FieldsOf(StatOf("self")));
}

bool ProcessIsGone(std::string_view pid, std::string_view start) {
  return ProcessIsGone(StatOf(pid), KillError(pid), start);
}

bool ProcessIsGone(std::string_view stat, int kill_error, std::string_view start) {
  const std::vector<std::string> fields = FieldsOf(stat);
  if (StartTime(fields).empty()) {
    return kill_error == ESRCH;
  }
  return fields[0] == "Z" || StartTime(fields) != start;
}

}  // namespace assay
