#pragma once
// Measures the share of requested CPU time that this process got.

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace flowtrain {

/// CPU time, summed over the threads of this process.
struct CpuTime {
  double got_s = 0;        ///< time in which they ran
  double lost_s = 0;       ///< time in which they were ready to run, while others had the cores
  double throttled_s = 0;  ///< time in which a control group's quota held them back

  /// The part of the requested time that the process got, 0 … 1.
  double share() const { return got_s + lost_s > 0 ? got_s / (got_s + lost_s) : 1; }
  /// Returns whether the process requested some time and got too little of it, so that messages say so.
  bool is_short(double wall_s) const { return got_s + lost_s > 0.2 * wall_s && share() < 0.8; }
  CpuTime& operator+=(const CpuTime& more);
};

/// Returns "this process got 45 % of the CPU time that it asked for: other processes took the cores".
std::string describe_shortage(const CpuTime& time);

/// Reads the scheduler's own counts, in /proc/self/task and in the control groups' cpu.stat. One thread calls.
class CpuMeter {
 public:
  /// `root` is the root of the file system with /proc and /sys, `cores` the number that this process may run on.
  CpuMeter(std::filesystem::path root, unsigned cores);

  /// Returns the time since the last call, or since the meter was made, `wall_s` seconds ago. A process whose own
  /// threads share the cores has lost nothing.
  CpuTime take(double wall_s);

 private:
  using Counts = std::pair<double, double>;  // ran, waited: seconds since the thread's begin
  std::map<std::string, Counts> threads() const;
  double throttled_s() const;

  std::filesystem::path root_;
  unsigned cores_;
  std::vector<std::filesystem::path> groups_;
  std::map<std::string, Counts> threads_;
  double throttled_s_;
};

}  // namespace flowtrain
