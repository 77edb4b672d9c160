#include "pipeline/base/launch/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

[[noreturn]] void refuse(const std::string& program, int error) {
  throw UserError(ExitCode::distributed, "cannot start " + program + ": " + std::generic_category().message(error),
                  "Check the limits on processes (ulimit -u) and memory, and that the program is still there.");
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& variables) {
  std::vector<std::string> all;
  all.reserve(variables.size());
  for (const auto& [name, value] : variables) all.push_back(concat(name, "=", value));
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto same_name = [&](const auto& variable) { return variable.first == text.substr(0, text.find('=')); };
    if (std::none_of(variables.begin(), variables.end(), same_name)) all.emplace_back(text);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (auto& string : strings) pointers.push_back(string.data());
  pointers.push_back(nullptr);
  return pointers;
}

// A pipe that a successful exec closes; otherwise it carries the error.
struct ErrorPipe {
  ErrorPipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) refuse("a process", errno);
  }
  ~ErrorPipe() {
    ::close(ends[0]);
    if (ends[1] >= 0) ::close(ends[1]);
  }
  ErrorPipe(const ErrorPipe&) = delete;
  ErrorPipe& operator=(const ErrorPipe&) = delete;

  // Waits for the exec; returns 0 if it succeeded.
  int error_of_child() {
    ::close(std::exchange(ends[1], -1));
    int error = 0;
    const ssize_t count = TEMP_FAILURE_RETRY(::read(ends[0], &error, sizeof error));
    return count == sizeof error ? error : 0;
  }

  std::array<int, 2> ends{};
};

}  // namespace

pid_t start_process(const std::vector<std::string>& command,
                    const std::vector<std::pair<std::string, std::string>>& variables,
                    const std::function<void()>& restore_signals) {
  // The parent allocates everything before the fork: another thread may hold malloc's lock in that context.
  auto words = command;
  auto environment = environment_with(variables);
  const auto argv = pointers_to(words);
  const auto envp = pointers_to(environment);
  ErrorPipe pipe;
  const pid_t parent = ::getpid();
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);  // our handlers must not run in the child
  const pid_t child = ::fork();
  if (child == 0) {
    restore_signals();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::_exit(128 + SIGTERM);  // the parent died before it could be watched
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::execve(argv.front(), argv.data(), envp.data());
    const int error = errno;
    (void)!::write(pipe.ends[1], &error, sizeof error);
    ::_exit(127);
  }
  const int fork_error = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (child < 0) refuse(command.front(), fork_error);
  if (const int error = pipe.error_of_child(); error != 0) {
    TEMP_FAILURE_RETRY(::waitpid(child, nullptr, 0));
    refuse(command.front(), error);
  }
  return child;
}

}  // namespace flowtrain
