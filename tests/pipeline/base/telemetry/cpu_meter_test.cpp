// The limits of a process's CPU time, and the time that it got; /proc and /sys are folders of the test.

#include "pipeline/base/telemetry/cpu_meter.h"

#include <doctest/doctest.h>

#include "sampling/core/cpus.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::cpu_meter_test {

using doctest::Approx;

namespace {

/// A file system of a test.
struct Machine : TempFolder {
  void thread(int id, double ran_s, double waited_s) const {
    write("proc/self/task/" + std::to_string(id) + "/schedstat",
          std::to_string(static_cast<std::uint64_t>(1e9 * ran_s)) + " " +
              std::to_string(static_cast<std::uint64_t>(1e9 * waited_s)) + " 7\n");
  }
  double quota() const { return cpu_limits(path()).quota; }
};

}  // namespace

TEST_CASE("the CPU quota is the least of the process's control groups, of either version") {
  const Machine machine;
  CHECK(machine.quota() == 0);  // no /proc at all
  machine.write("proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/kube/pod\n0::/kube/pod\n");
  CHECK(machine.quota() == 0);
  machine.write("sys/fs/cgroup/kube/pod/cpu.max", "max 100000\n");
  CHECK(machine.quota() == 0);
  machine.write("sys/fs/cgroup/kube/cpu.max", "350000 100000\n");  // of what the group is in
  CHECK(machine.quota() == 3.5);
  machine.write("sys/fs/cgroup/cpu,cpuacct/kube/pod/cpu.cfs_quota_us", "-1\n");
  machine.write("sys/fs/cgroup/cpu,cpuacct/kube/pod/cpu.cfs_period_us", "100000\n");
  CHECK(machine.quota() == 3.5);
  machine.write("sys/fs/cgroup/cpu,cpuacct/kube/pod/cpu.cfs_quota_us", "50000\n");
  CHECK(machine.quota() == 0.5);
  // In a container its own group is at the mount, whatever its name is outside.
  const Machine container;
  container.write("proc/self/cgroup", "0::/\n");
  container.write("sys/fs/cgroup/cpu.max", "150000 100000\n");
  CHECK(container.quota() == 1.5);
}

TEST_CASE("one thread for each core means the cores that a process may use, and one at least") {
  CHECK(CpuLimits{.machine = 64, .affinity = 64}.usable() == 64);
  CHECK(CpuLimits{.machine = 64, .affinity = 8}.usable() == 8);
  CHECK(CpuLimits{.machine = 64, .affinity = 64, .quota = 2}.usable() == 2);
  CHECK(CpuLimits{.machine = 64, .affinity = 64, .quota = 2.5}.usable() == 3);
  CHECK(CpuLimits{.machine = 64, .affinity = 2, .quota = 8}.usable() == 2);
  CHECK(CpuLimits{.machine = 64, .affinity = 64, .quota = 0.5}.usable() == 1);
  CHECK(cpu_limits().affinity >= 1);
  CHECK(cpu_limits().machine >= cpu_limits().affinity);
  CHECK(usable_cores() >= 1);
}

TEST_CASE("a process has lost the time that its threads waited while others had the cores") {
  const Machine machine;
  machine.thread(11, 5, 1);
  machine.thread(12, 2, 0);
  CpuMeter meter(machine.path(), 2);
  // Two threads of four loops beside: a third of the time for each.
  machine.thread(11, 5 + 0.4, 1 + 0.6);
  machine.thread(12, 2 + 0.5, 0.5);
  CpuTime time = meter.take(1);
  CHECK(time.got_s == Approx(0.9));
  CHECK(time.lost_s == Approx(1.1));
  CHECK(time.share() == Approx(0.45));
  CHECK(time.is_short(1));
  CHECK(describe_shortage(time) ==
        "this process got 45 % of the CPU time that it asked for: other processes took the cores");
  // Its own threads wait for one another: it has both cores.
  for (int id : {11, 12, 13, 14}) machine.thread(id, 6 + 0.5, 5);
  time = meter.take(1);
  CHECK_FALSE(time.is_short(1));
  // It asks for next to nothing.
  machine.thread(11, 6.51, 5.1);
  time = meter.take(1);
  CHECK_FALSE(time.is_short(1));
}

TEST_CASE("a quota that holds a process back is named") {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/\n");
  machine.write("sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_throttled 2\nthrottled_usec 1000000\n");
  machine.thread(1, 0, 0);
  CpuMeter meter(machine.path(), 4);
  machine.write("sys/fs/cgroup/cpu.stat", "usage_usec 5\nnr_throttled 9\nthrottled_usec 3000000\n");
  machine.thread(1, 1, 2);
  const CpuTime time = meter.take(1);
  CHECK(time.throttled_s == Approx(2));
  CHECK(describe_shortage(time) ==
        "this process got 33 % of the CPU time that it asked for: its CPU quota held it back");
}

}  // namespace flowtrain::cpu_meter_test
