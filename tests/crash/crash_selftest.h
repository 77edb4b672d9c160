#pragma once
// Whether snapshots survive accidents: kills, errors and power cuts placed at every system call of real saves.

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "sampling/core/error.h"
#include "tests/crash/disk_log.h"
#include "tests/crash/traced_child.h"

namespace flowtrain {

/// A process that saves. It reports "saved N" when the save of iteration N has returned, "best N" when N was marked
/// best, "failed: MESSAGE" for a UserError, and "wrong: WHAT" where a failure has harmed what was saved before.
struct Workload {
  std::function<void(const std::filesystem::path& snapshots_dir, const Report& report)> run;
  std::uint64_t last = 0;  ///< the newest iteration that it saves
};

/// Saves iterations 1 … `last` (KnownContent; at least 3), marks the second as best, keeps two, saves the last one once
/// more, goes back to the one before it (set_aside_newer), and saves the last one again. Goes on after failures.
Workload saving(std::uint64_t last);

/// What a part of the self test found.
struct Findings {
  std::uint64_t points = 0;           ///< accidents tried
  std::vector<std::string> problems;  ///< what was wrong and after which accident; the first few
};

/// Which accidents to try, by number from 1; an empty function means all.
using PointFilter = std::function<bool(std::uint64_t point)>;

/// Each of the following works in `folder`, which it makes and removes. A problem's text begins with its "point N".

/// Kills the process before and after each of its calls: what had been reported as saved must be found.
Findings try_kills(const std::filesystem::path& folder, const Workload& workload, const PointFilter& includes = {});

/// What disks are known to answer.
inline constexpr int usual_errors[] = {EIO, ENOSPC, EDQUOT, EROFS, EINTR};

/// Lets each call fail with each of `errors`, and each write end early. A failure must be reported
/// with file and reason (none for an early end, or for EINTR where POSIX lets one try again), must not harm what was
/// saved, and the next save must be good and leave neither temporary files nor open descriptors behind.
Findings try_errors(const std::filesystem::path& folder, const Workload& workload,
                    std::span<const int> errors = usual_errors, const PointFilter& includes = {});

/// What `workload` does to a disk.
DiskLog record(const std::filesystem::path& folder, const Workload& workload);

/// Up to `limit` states that a power cut may leave of `log` (disk_states.h): what had been reported as saved must be
/// found, and (every tenth time, as it takes long) the next save must be good.
Findings try_power_cuts(const std::filesystem::path& folder, const DiskLog& log, std::uint64_t last,
                        std::uint64_t limit, const PointFilter& includes = {});

/// All three, below `folder`, with a line for each part and a verdict. Throws UserError where it cannot be done.
ExitCode crash_selftest(const std::filesystem::path& folder, std::uint64_t states, std::ostream& out);

}  // namespace flowtrain
