#pragma once
// The outermost frame of a program: turns exceptions into messages and exit codes.

#include <chrono>
#include <functional>
#include <string>

namespace flowtrain {

/// Runs `body` and returns its exit code. A UserError becomes "error: message", a line with the hint, and its code;
/// both lines reach the log file too. "Out of memory" is handled likewise, with exit 2. Everything else is an internal
/// error: "internal error: …" with the stack of the place that threw, and exit 70. This also covers exceptions that
/// escape from other threads, except LibTorch's reports that other processes are lost (NCCL's watchdog throws
/// c10::DistBackendError in a thread of its own): they become "error: lost the other processes: …" and exit 6.
int guarded_main(const std::function<int()>& body);

/// Delays the end of the process by a loss that escapes from a thread: the job's supervision gets this time to name the
/// lost process, and to end this one.
void give_losses_time(std::chrono::milliseconds span);

/// Returns the message of the exception being handled, and its type unless it is an InternalError.
std::string describe_current_exception();

}  // namespace flowtrain
