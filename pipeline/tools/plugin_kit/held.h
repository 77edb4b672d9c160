#pragma once
// Measures the memory, threads and open files of a process, to find leaks.

#include <cstddef>
#include <functional>

namespace flowtrain::plugin_kit {

/// Throws CheckFailure if `call` takes memory that it does not give back. `calls` is the number of calls in each of
/// four rounds, the first of which warms up; `what` names the call.
void check_memory(const char* what, std::size_t calls, const std::function<void()>& call);

/// Throws CheckFailure if `use`, which makes, uses and destroys a part, leaves threads or open files.
void check_threads_and_files(const std::function<void()>& use);

/// Returns the number of calls that take about 0.2 seconds: 20 to 1,000.
std::size_t affordable_calls(const std::function<void()>& call);

/// Returns the mean seconds of one call, measured over about 0.2 seconds.
double seconds_of(const std::function<void()>& call);

}  // namespace flowtrain::plugin_kit
