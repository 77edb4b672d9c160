#pragma once
// The outermost frame of a program: turns what is thrown into messages and exit codes.

#include <chrono>
#include <functional>
#include <string>

namespace flowtrain {

/// Runs `body` and returns its exit code. A UserError becomes "error: message", a line with the hint, and its code;
/// both lines reach the log file too. So do those of "out of memory", with exit 2. Everything else is a fault of ours:
/// "internal error: …" with the stack of the place that threw, and exit 70. The same holds for exceptions that escape
/// from other threads, but for those by which LibTorch says that other processes are lost (NCCL's watchdog throws
/// c10::DistBackendError in a thread of its own): they become "error: lost the others: …" and exit 6.
int guarded_main(const std::function<int()>& body);

/// Before a loss that escapes from a thread ends the process, whoever watches over the job gets so long to say which
/// process was lost, and to end this one.
void give_losses_time(std::chrono::milliseconds span);

/// What the exception being handled says, and of which type it is, unless it is an InternalError.
std::string describe_current_exception();

}  // namespace flowtrain
