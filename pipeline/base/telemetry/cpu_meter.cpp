#include "pipeline/base/telemetry/cpu_meter.h"

#include <algorithm>
#include <fstream>

#include "pipeline/base/telemetry/format.h"
#include "sampling/core/cpus.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace fs = std::filesystem;

CpuTime& CpuTime::operator+=(const CpuTime& more) {
  got_s += more.got_s;
  lost_s += more.lost_s;
  throttled_s += more.throttled_s;
  return *this;
}

std::string describe_shortage(const CpuTime& time) {
  const bool by_quota = time.throttled_s > time.lost_s / 2;
  return concat("this process got ", printed("%.0f %%", 100 * time.share()), " of the CPU time that it asked for: ",
                by_quota ? "its CPU quota held it back" : "other processes took the cores");
}

CpuMeter::CpuMeter(fs::path root, unsigned cores)
    : root_(std::move(root)),
      cores_(cores),
      groups_(cpu_groups(root_)),
      threads_(threads()),
      throttled_s_(throttled_s()) {}

CpuTime CpuMeter::take(double wall_s) {
  auto now = threads();
  double ran = 0, waited = 0;
  for (auto& [thread, counts] : now) {
    const auto before = threads_.find(thread);
    ran += counts.first - (before == threads_.end() ? 0 : before->second.first);
    waited += counts.second - (before == threads_.end() ? 0 : before->second.second);
  }
  threads_ = std::move(now);
  const double throttled = throttled_s();
  // Threads also wait for one another, while this process has all cores.
  const double idle = std::max(0.0, cores_ * wall_s - ran);
  const CpuTime time{std::max(0.0, ran), std::clamp(waited, 0.0, idle), std::max(0.0, throttled - throttled_s_)};
  throttled_s_ = throttled;
  return time;
}

// Each file holds "RAN WAITED SLICES", in nanoseconds. A thread may end meanwhile.
std::map<std::string, CpuMeter::Counts> CpuMeter::threads() const {
  std::map<std::string, Counts> all;
  std::error_code error;
  for (fs::directory_iterator thread(root_ / "proc/self/task", error), end; !error && thread != end;
       thread.increment(error)) {
    Counts counts;
    if (std::ifstream(thread->path() / "schedstat") >> counts.first >> counts.second)
      all[thread->path().filename()] = {1e-9 * counts.first, 1e-9 * counts.second};
  }
  return all;
}

// Nested groups count the same time.
double CpuMeter::throttled_s() const {
  double most = 0;
  for (auto& group : groups_) {
    std::ifstream file(group / "cpu.stat");
    double count = 0;
    for (std::string name; file >> name >> count;) {
      if (name == "throttled_usec") most = std::max(most, 1e-6 * count);
      if (name == "throttled_time") most = std::max(most, 1e-9 * count);
    }
  }
  return most;
}

}  // namespace flowtrain
