#pragma once
// What a process holds: memory, threads and open files, to find what is left behind.

#include <cstddef>
#include <functional>

namespace flowtrain::plugin_kit {

/// Throws CheckFailure where `call` takes memory that it does not give back. `calls`: how often it is called in each of
/// four rounds, the first of which warms up; `what` names it.
void check_memory(const char* what, std::size_t calls, const std::function<void()>& call);

/// Throws CheckFailure where `use`, which makes a part, uses it and destroys it, leaves threads or open files.
void check_threads_and_files(const std::function<void()>& use);

/// How often `call` can be called in about 0.2 seconds: from 20 to 1,000.
std::size_t affordable_calls(const std::function<void()>& call);

/// Seconds of one call, the mean over about 0.2 seconds.
double seconds_of(const std::function<void()>& call);

}  // namespace flowtrain::plugin_kit
