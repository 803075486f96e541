#include "samplestore/claim_owner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <climits>
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

// Field 22 of /proc/PID/stat, counted after the command name, which may hold spaces and brackets.
std::string StartTime(std::string_view pid) {
  const Result<std::string> stat = ReadFile(fmt::format("/proc/{}/stat", pid));
  if (!stat.ok() || stat->rfind(')') == std::string::npos) {
    return "";
  }
  constexpr size_t kStartTime = 19;
  const std::vector<std::string> fields = Split(Trim(std::string_view(*stat).substr(stat->rfind(')') + 1)), ' ');
  const bool is_zombie = !fields.empty() && fields[0] == "Z";
  return fields.size() > kStartTime && !is_zombie ? fields[kStartTime] : "";
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
  return fmt::format("{} {} {} {} {}", HostName(), ProcessSpace(), pid, StartTime(pid), RandomUid());
}

bool OwnerIsGone(std::string_view owner) {
  const std::vector<std::string> parts = PartsOf(owner);
  return !parts.empty() && parts[1] == ProcessSpace() && StartTime(parts[2]) != parts[3];
}

bool ClaimCounts(std::string_view owner, std::string_view epoch, double expires_at, const LeaseClock& clock) {
  return epoch == clock.epoch && expires_at >= clock.seconds() && !OwnerIsGone(owner);
}

std::string DescribeOwner(std::string_view owner) {
  const std::vector<std::string> parts = PartsOf(owner);
  return parts.empty() ? std::string(owner) : fmt::format("process {} on {}", parts[2], parts[0]);
}

}  // namespace assay::samplestore
