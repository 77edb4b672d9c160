#pragma once
// How many of the machine's cores a process may use.

#include <filesystem>
#include <vector>

namespace flowtrain {

/// The bounds on the CPU time of this process.
struct CpuLimits {
  unsigned machine = 1;   ///< cores of the machine
  unsigned affinity = 1;  ///< of those, the cores that this process may run on (taskset, cpusets)
  double quota = 0;       ///< cores' worth of time that its control groups grant; 0: as much as there is

  /// Threads that "one for each core" means: the affinity, or the quota rounded up; at least 1.
  unsigned usable() const;
};

/// Asks the scheduler and the control groups of this process (both versions, with the groups that these are in).
/// `root`: of the file system that /proc and /sys are in.
CpuLimits cpu_limits(const std::filesystem::path& root = "/");

/// CpuLimits::usable() of this process, as of the first call.
unsigned usable_cores();

/// The folders of the control groups that bound this process's CPU time, innermost first.
std::vector<std::filesystem::path> cpu_groups(const std::filesystem::path& root = "/");

}  // namespace flowtrain
