#include "samplestore/claim_owner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <climits>
#include <vector>

#include "base/files.h"
#include "base/process_identity.h"
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
  return fmt::format("{} {} {} {} {}", HostName(), ProcessSpace(), getpid(), ProcessStart(), RandomUid());
}

bool OwnerIsGone(std::string_view owner) {
  const std::vector<std::string> parts = PartsOf(owner);
  return !parts.empty() && parts[1] == ProcessSpace() && ProcessIsGone(parts[2], parts[3]);
}

bool ClaimCounts(std::string_view owner, std::string_view epoch, double expires_at, const StoreTime& now) {
  return epoch == now.epoch && expires_at >= now.seconds && !OwnerIsGone(owner);
}

std::string DescribeOwner(std::string_view owner) {
  const std::vector<std::string> parts = PartsOf(owner);
  return parts.empty() ? std::string(owner) : fmt::format("process {} on {}", parts[2], parts[0]);
}

}  // namespace assay::samplestore
