#pragma once
// Finds how many of the machine's cores a process may use.

#include <filesystem>
#include <vector>

namespace flowtrain {

/// The bounds on the CPU time of this process.
struct CpuLimits {
  unsigned machine = 1;   ///< cores of the machine
  unsigned affinity = 1;  ///< cores that this process may run on (taskset, cpusets)
  double quota = 0;       ///< cores' worth of time that its control groups grant; 0: unlimited

  /// Returns the threads that "one for each core" means: the affinity, or the quota rounded up; at least 1.
  unsigned usable() const;
};

/// Asks the scheduler and the control groups of this process (both versions, with their parent groups). `root` is the
/// root of the file system with /proc and /sys.
CpuLimits cpu_limits(const std::filesystem::path& root = "/");

/// Returns CpuLimits::usable() of this process at the time of the first call.
unsigned usable_cores();

/// Returns the folders of the control groups that bound this process's CPU time, innermost first.
std::vector<std::filesystem::path> cpu_groups(const std::filesystem::path& root = "/");

}  // namespace flowtrain
