#pragma once
// The outermost frame of a program: turns what is thrown into messages and exit codes.

#include <functional>
#include <string>

namespace flowtrain {

/// Runs `body` and returns its exit code. A UserError becomes "error: message", a line with the hint, and its code;
/// both lines reach the log file too. Everything else is a fault of ours: "internal error: …" with the stack of the
/// place that threw, and exit 70. The same holds for exceptions that escape from other threads.
int guarded_main(const std::function<int()>& body);

/// What the exception being handled says, and of which type it is, unless it is an InternalError.
std::string describe_current_exception();

}  // namespace flowtrain
