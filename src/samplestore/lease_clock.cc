#include "samplestore/lease_clock.h"

#include "base/files.h"
#include "base/text.h"

namespace assay::samplestore {

LeaseClock MachineLeaseClock() {
  const Result<std::string> boot = ReadFile("/proc/sys/kernel/random/boot_id");
  return {.epoch = boot.ok() ? std::string(Trim(*boot)) : "no-boot-id", .seconds = &MonotonicSeconds};
}

}  // namespace assay::samplestore
