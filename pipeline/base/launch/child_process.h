#pragma once
// Starts a program that does not outlive its parent.

#include <sys/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace flowtrain {

/// Starts `command` (first word: path of the program) in this process group, with this environment and `variables` on
/// top. The child gets SIGTERM when the calling thread ends, however it ends. `restore_signals` is called in the child
/// before the program, with all signals blocked, and may call only what signal-safety(7) allows.
/// Throws UserError(distributed) if there can be no process, or the program cannot be run.
pid_t start_process(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables,
                    const std::function<void()>& restore_signals);

}  // namespace flowtrain
