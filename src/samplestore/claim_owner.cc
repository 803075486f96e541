#include "samplestore/claim_owner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <csignal>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "samplestore/sample_store.h"

namespace assay::samplestore {
namespace {

// A process id means something only within one boot of one machine and one process namespace.
std::string ProcessSpace() {
  const Result<std::string> boot = ReadFile("/proc/sys/kernel/random/boot_id");
  char link[64] = {};
  const ssize_t length = readlink("/proc/self/ns/pid", link, sizeof(link) - 1);
  return fmt::format("{}/{}", boot.ok() ? Trim(*boot) : "no-boot-id", std::string_view(link, length > 0 ? length : 0));
}

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

/// Host, process space, process id, its start time and a random part; nothing of a name of another form.
std::vector<std::string> PartsOf(std::string_view owner) {
  constexpr size_t kParts = 5;
  std::vector<std::string> parts = Split(owner, ' ');
  return parts.size() == kParts ? parts : std::vector<std::string>();
}

std::string HostName() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

}  // namespace

std::string MakeClaimOwner() {
  const std::string pid = std::to_string(getpid());
  return fmt::format("{} {} {} {} {}", HostName(), ProcessSpace(), pid, StartTime(FieldsOf(StatOf(pid))), RandomUid());
}

bool ProcessIsGone(std::string_view stat, int kill_error, std::string_view start) {
  const std::vector<std::string> fields = FieldsOf(stat);
  if (StartTime(fields).empty()) {
    return kill_error == ESRCH;
  }
  return fields[0] == "Z" || StartTime(fields) != start;
}

bool OwnerIsGone(std::string_view owner) {
  const std::vector<std::string> parts = PartsOf(owner);
  return !parts.empty() && parts[1] == ProcessSpace() && ProcessIsGone(StatOf(parts[2]), KillError(parts[2]), parts[3]);
}

bool ClaimCounts(std::string_view owner, std::string_view epoch, double expires_at, const StoreTime& now) {
  return epoch == now.epoch && expires_at >= now.seconds && !OwnerIsGone(owner);
}

std::string DescribeOwner(std::string_view owner) {
  const std::vector<std::string> parts = PartsOf(owner);
  return parts.empty() ? std::string(owner) : fmt::format("process {} on {}", parts[2], parts[0]);
}

}  // namespace assay::samplestore
