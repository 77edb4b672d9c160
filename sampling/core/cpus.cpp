#include "sampling/core/cpus.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

namespace flowtrain {

namespace {

namespace fs = std::filesystem;

// A machine with more cores than a cpu_set_t holds needs a larger set.
unsigned cores_of_affinity() {
  for (std::size_t cores = CPU_SETSIZE; cores <= (std::size_t{1} << 16); cores *= 4) {
    std::vector<cpu_set_t> set(cores / CPU_SETSIZE);
    const std::size_t bytes = set.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, set.data()) == 0) return static_cast<unsigned>(CPU_COUNT_S(bytes, set.data()));
  }
  return 0;
}

// Version 2 writes "QUOTA PERIOD", where the quota may be "max"; version 1 has a file for each, where -1 is no quota.
std::optional<double> quota_of(const fs::path& group) {
  double quota = 0, period = 0;
  std::ifstream both(group / "cpu.max");
  if (!(both >> quota >> period)) {
    std::ifstream(group / "cpu.cfs_quota_us") >> quota;
    std::ifstream(group / "cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? std::optional(quota / period) : std::nullopt;
}

// A container may see only its own group, at the mount itself.
void add_groups(std::vector<fs::path>& groups, const fs::path& mount, fs::path group) {
  for (group = group.relative_path(); !group.empty(); group = group.parent_path()) groups.push_back(mount / group);
  groups.push_back(mount);
}

}  // namespace

unsigned CpuLimits::usable() const {
  const double granted = quota > 0 ? std::min<double>(affinity, std::ceil(quota)) : affinity;
  return std::max(1u, static_cast<unsigned>(granted));
}

std::vector<fs::path> cpu_groups(const fs::path& root) {
  std::vector<fs::path> groups;
  const fs::path mount = root / "sys/fs/cgroup";
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // 4:cpu,cpuacct:/path or, in version 2, 0::/path
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), group = line.substr(second + 1);
    if (controllers.empty()) add_groups(groups, mount, group);
    if (("," + controllers + ",").find(",cpu,") != std::string::npos)
      add_groups(groups, fs::exists(mount / controllers) ? mount / controllers : mount / "cpu", group);
  }
  return groups;
}

CpuLimits cpu_limits(const fs::path& root) {
  CpuLimits limits{.machine = std::max(1u, std::thread::hardware_concurrency())};
  const unsigned own = cores_of_affinity();
  limits.affinity = own > 0 ? own : limits.machine;
  limits.machine = std::max(limits.machine, limits.affinity);
  for (auto& group : cpu_groups(root))
    if (const auto quota = quota_of(group)) limits.quota = limits.quota > 0 ? std::min(limits.quota, *quota) : *quota;
  return limits;
}

unsigned usable_cores() {
  static const unsigned cores = cpu_limits().usable();
  return cores;
}

}  // namespace flowtrain
