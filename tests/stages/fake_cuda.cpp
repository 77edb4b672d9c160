// The libraries that gpu_facts() asks, in one: a driver with two GPUs, CUDA's runtime, cuDNN and NCCL.

#include <cstddef>
#include <cstdio>

extern "C" {
int cuInit(unsigned) { return 0; }
int cuDriverGetVersion(int* version) {
  *version = 13010;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 2;
  return 0;
}
int cuDeviceGet(int* device, int index) {
  *device = index;
  return 0;
}
int cuDeviceGetName(char* name, int bytes, int device) {
  std::snprintf(name, static_cast<std::size_t>(bytes), "Drawn GPU %d", device);
  return 0;
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int device) {
  *bytes = std::size_t{8} << (30 + device);
  return 0;
}
int cuDeviceGetPCIBusId(char* text, int bytes, int device) {
  std::snprintf(text, static_cast<std::size_t>(bytes), "0000:%02d:00.0", device + 2);
  return 0;
}
int cudaRuntimeGetVersion(int* version) {
  *version = 12080;
  return 0;
}
std::size_t cudnnGetVersion() { return 91002; }
int ncclGetVersion(int* version) {
  *version = 22803;
  return 0;
}
}
