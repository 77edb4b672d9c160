// A driver's library with two GPUs: the first idle, the second with three processes, half of its 8 GiB used, and work
// for three quarters of the time.

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {
struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;
};
bool is_second(void* gpu) { return reinterpret_cast<std::uintptr_t>(gpu) == 2; }
}  // namespace

extern "C" {
int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** gpu) {
  *gpu = reinterpret_cast<void*>(static_cast<std::uintptr_t>(index + 1));
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** gpu) {
  constexpr int not_found = 6;
  if (std::strcmp(bus_id, "0000:03:00.0") != 0) return not_found;
  return nvmlDeviceGetHandleByIndex_v2(1, gpu);
}
int nvmlDeviceGetUtilizationRates(void* gpu, Utilization* use) {
  *use = is_second(gpu) ? Utilization{75, 20} : Utilization{0, 0};
  return 0;
}
int nvmlDeviceGetUUID(void* gpu, char* text, unsigned bytes) {
  std::snprintf(text, bytes, "%s", is_second(gpu) ? "GPU-bbbb" : "GPU-aaaa");
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* gpu, Memory* memory) {
  *memory = is_second(gpu) ? Memory{8ull << 30, 4ull << 30, 4ull << 30} : Memory{8ull << 30, 8ull << 30, 0};
  return 0;
}
int nvmlDeviceGetComputeRunningProcesses(void* gpu, unsigned* count, void*) {
  constexpr int insufficient_size = 7;
  *count = is_second(gpu) ? 3 : 0;
  return is_second(gpu) ? insufficient_size : 0;
}
}
