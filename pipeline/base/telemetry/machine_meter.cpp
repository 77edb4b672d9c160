#include "pipeline/base/telemetry/machine_meter.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include "sampling/core/cpus.h"
#include "stages/device/nvml.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

namespace {

constexpr double mib = 1 << 20;
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// Returns 0 if it has ended, or there is no /proc.
double resident_bytes(const std::string& process) {
  double all = 0, resident = 0;
  std::ifstream("/proc/" + process + "/statm") >> all >> resident;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// /proc lists children by the thread that started them. A thread may end meanwhile.
double bytes_of_children() {
  double bytes = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator thread("/proc/self/task", error), end; !error && thread != end;
       thread.increment(error)) {
    std::ifstream children(thread->path() / "children");
    for (std::string process; children >> process;) bytes += resident_bytes(process);
  }
  return bytes;
}

double host_memory_mb() {
  const double own = resident_bytes("self");
  return own > 0 ? (own + bytes_of_children()) / mib : unknown;
}

class GpuMeter {
 public:
  /// Throws std::runtime_error if the GPU cannot be queried.
  GpuMeter(const std::string& pci_bus_id, const std::string& nvml) : nvml_(nvml) {
    nvml_.call("nvmlDeviceGetHandleByPciBusId_v2", {0}, pci_bus_id.c_str(), &gpu_);
  }
  double memory_mb() const {
    Nvml::Memory memory{};
    nvml_.call("nvmlDeviceGetMemoryInfo", {0}, gpu_, &memory);
    return static_cast<double>(memory.used) / mib;
  }
  double utilisation() const {
    Nvml::Utilization use{};
    nvml_.call("nvmlDeviceGetUtilizationRates", {0}, gpu_, &use);
    return use.gpu / 100.0;
  }

 private:
  Nvml nvml_;
  Nvml::Gpu gpu_ = nullptr;
};

// Returns NaN on errors: a part of a GPU (MIG), for example, has no utilisation. No meter ends a run.
template <class Ask>
double if_known(const Ask& ask) {
  try {
    return ask();
  } catch (const std::exception&) {
    return unknown;
  }
}

}  // namespace

MachineMeter::MachineMeter(const std::string& pci_bus_id, const std::string& nvml)
    : host_memory_mb_(host_memory_mb()),
      gpu_memory_mb_(unknown),
      gpu_utilisation_(unknown),
      cpu_share_(unknown),
      thread_(named_thread("ft-meter", [this, pci_bus_id, nvml] { loop(pci_bus_id, nvml); })) {}

MachineMeter::~MachineMeter() {
  {
    MutexLock lock(mutex_);
    ending_ = true;
  }
  ends_.notify_all();
  thread_.join();
}

MachineUse MachineMeter::now() const { return {host_memory_mb_, gpu_memory_mb_, gpu_utilisation_, cpu_share_}; }

CpuTime MachineMeter::cpu() const {
  MutexLock lock(mutex_);
  return cpu_;
}

void MachineMeter::look_at_cpu(CpuMeter& meter, double wall_s) {
  const CpuTime time = meter.take(wall_s);
  cpu_share_ = time.is_short(wall_s) ? time.share() : 1;
  MutexLock lock(mutex_);
  cpu_ += time;
}

void MachineMeter::loop(const std::string& pci_bus_id, const std::string& nvml) {
  std::optional<GpuMeter> gpu;
  try {
    if (!pci_bus_id.empty()) gpu.emplace(pci_bus_id, nvml);
  } catch (const std::exception&) {  // the GPU's values stay unknown without a driver
  }
  std::optional<CpuMeter> cpu;
  auto looked = std::chrono::steady_clock::now();
  do {
    const auto now = std::chrono::steady_clock::now();
    if (cpu)
      look_at_cpu(*cpu, std::chrono::duration<double>(now - looked).count());
    else
      cpu.emplace("/", cpu_limits().affinity);
    looked = now;
    if (gpu) {
      gpu_memory_mb_ = if_known([&] { return gpu->memory_mb(); });
      gpu_utilisation_ = if_known([&] { return gpu->utilisation(); });
    }
    host_memory_mb_ = if_known(host_memory_mb);
  } while (wait_for_next());
}

// Returns false at the end.
bool MachineMeter::wait_for_next() {
  const auto next = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  MutexLock lock(mutex_);
  while (!ending_ && ends_.wait_until(lock, next)) {
  }
  return !ending_;
}

}  // namespace flowtrain
