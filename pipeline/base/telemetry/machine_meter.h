#pragma once
// The resources of its machine and its GPU that a process uses, for train lines.

#include <atomic>
#include <limits>
#include <string>
#include <thread>

#include "pipeline/base/telemetry/cpu_meter.h"
#include "sampling/core/mutex.h"

namespace flowtrain {

/// The current use; NaN if not known.
struct MachineUse {
  double host_memory_mb = std::numeric_limits<double>::quiet_NaN();   ///< MiB, resident, with child processes
  double gpu_memory_mb = std::numeric_limits<double>::quiet_NaN();    ///< MiB used on the GPU, by all processes
  double gpu_utilisation = std::numeric_limits<double>::quiet_NaN();  ///< share of the time with work on it, 0..1
  double cpu_share = std::numeric_limits<double>::quiet_NaN();        ///< CpuTime::share() of the last second, 0..1
};

/// Measures once a second, on a thread of its own, so that callers never wait.
class MachineMeter {
 public:
  /// `pci_bus_id` is that of the computing GPU, "0000:3B:00.0"; empty: the CPU computes. `nvml` is the driver's
  /// library. Unknown values stay NaN.
  explicit MachineMeter(const std::string& pci_bus_id = {}, const std::string& nvml = "libnvidia-ml.so.1");
  ~MachineMeter();
  MachineMeter(const MachineMeter&) = delete;

  /// Returns the last measurement. Any thread.
  MachineUse now() const;
  /// Returns the CPU time from the meter's begin to the last measurement. Any thread.
  CpuTime cpu() const;

 private:
  void look_at_cpu(CpuMeter& meter, double wall_s);
  void loop(const std::string& pci_bus_id, const std::string& nvml);
  bool wait_for_next();

  std::atomic<double> host_memory_mb_, gpu_memory_mb_, gpu_utilisation_, cpu_share_;
  mutable Mutex mutex_;
  CondVar ends_;
  bool ending_ FT_GUARDED_BY(mutex_) = false;
  CpuTime cpu_ FT_GUARDED_BY(mutex_);
  std::jthread thread_;  // declared last: it uses all of the above
};

}  // namespace flowtrain
