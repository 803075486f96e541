// A stand-in for libnvidia-ml.so.1 with two GPUs, for tests on machines without one. The second has no energy counter.
#include <cstdio>

namespace {

struct Utilization {
  unsigned int gpu;
  unsigned int memory;
};
struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};

constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;

int g_devices[2] = {0, 1};
int IndexOf(const void* device) {
  return *static_cast<const int*>(device);
}

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return kSuccess;
}
int nvmlShutdown() {
  return kSuccess;
}

int nvmlSystemGetDriverVersion(char* text, unsigned int size) {
  std::snprintf(text, size, "555.42");
  return kSuccess;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
  *count = 2;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
  *device = &g_devices[index];
  return kSuccess;
}

int nvmlDeviceGetName(void* device, char* text, unsigned int size) {
  std::snprintf(text, size, "Fake GPU %d", IndexOf(device));
  return kSuccess;
}

int nvmlDeviceGetUUID(void* device, char* text, unsigned int size) {
  std::snprintf(text, size, "GPU-%da2b", IndexOf(device));
  return kSuccess;
}

int nvmlDeviceGetUtilizationRates(void* device, Utilization* rates) {
  *rates = {IndexOf(device) == 0 ? 40U : 80U, 5U};
  return kSuccess;
}

int nvmlDeviceGetMemoryInfo(void* device, Memory* memory) {
  const unsigned long long used = IndexOf(device) == 0 ? 1000 : 3000;
  *memory = {4000, 4000 - used, used};
  return kSuccess;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned int* milliwatts) {
  *milliwatts = IndexOf(device) == 0 ? 100'000 : 300'000;
  return kSuccess;
}

int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned int* milliwatts) {
  *milliwatts = 400'000;
  return kSuccess;
}

int nvmlDeviceGetTotalEnergyConsumption(void* device, unsigned long long* millijoules) {
  static unsigned long long total = 5'000'000;
  *millijoules = total += 1000;
  return IndexOf(device) == 0 ? kSuccess : kNotSupported;
}

}  // extern "C"
