#pragma once
// Runs a function in a process of its own and watches each of its system calls on the files below a folder (ptrace(2)):
// writes them down, kills the process at one, or makes one fail. Linux on x86-64.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tests/crash/traced_call.h"

namespace flowtrain {

/// What is to happen at one call.
struct Fault {
  enum Kind {
    none,
    kill_before,  ///< SIGKILL; the call does not take place
    kill_after,   ///< SIGKILL once the call has taken place
    fail,         ///< it fails with `error` and does nothing; only close() closes all the same, as Linux does
    short_write   ///< only half of the bytes are written
  };
  Kind kind = none;
  std::uint64_t at = 0;  ///< which of the calls below the folder, from 0
  int error = 0;         ///< an errno
};

/// How the child tells its watcher something ("saved 3"), through a pipe. A line that was said cannot be lost.
using Report = std::function<void(const std::string& line)>;

struct Trace {
  std::vector<TracedCall> calls;  ///< those below the folder, up to the fault, and all lines said, in their order
  int exit_code = -1;             ///< -1: ended by a signal
  int signal = 0;
};

/// Forks and runs `body` in the child, which ends when `body` returns (exit code 0) or throws (1, and the line "died:
/// …" is said). A child that hangs ends by SIGALRM after a minute. Not for a process with threads that hold locks.
/// Throws UserError(usage) where processes cannot be traced.
Trace run_traced(const std::filesystem::path& folder, const std::function<void(const Report&)>& body,
                 const Fault& fault = {});

/// Why run_traced() cannot work on this machine; empty where it can.
std::string why_no_tracing();

}  // namespace flowtrain
