#include "pipeline/tools/plugin_kit/child_run.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "pipeline/base/launch/child_process.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/tools/plugin_kit/read_file.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain::plugin_kit {
namespace {

/// A file in memory that the child inherits.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("flowtrain-check", 0)) {
    if (file_ < 0) throw UserError(ExitCode::usage, "cannot make a file in memory for a check", "see ulimit -n");
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int get() const { return file_; }

 private:
  int file_;
};

std::string death_of(int status, bool ended, const std::string& printed) {
  if (WIFSIGNALED(status))
    return concat("killed by signal ", WTERMSIG(status), " (", ::strsignal(WTERMSIG(status)), ")");
  if (ended) return {};
  return concat("the process ended with exit code ", WEXITSTATUS(status), " in the middle of the check",
                printed.empty() ? "" : ": ", first_line(printed));
}

/// Returns whether the child ended within the limit.
bool wait_for(pid_t child, double limit_s, int& status) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s));
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace

ChildResult run_child(std::vector<std::string> words, double limit_s) {
  const MemoryFile report, printed;
  words.insert(words.begin(), std::filesystem::read_symlink("/proc/self/exe").string());
  words.insert(words.end(), {"--report", std::to_string(report.get())});
  const pid_t child = start_process(words, {}, [&] {
    ::setpgid(0, 0);  // a process group, so that its own children can be killed with it
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::dup2(printed.get(), STDOUT_FILENO);
    ::dup2(printed.get(), STDERR_FILENO);
  });
  int status = 0;
  const bool in_time = wait_for(child, limit_s, status);
  ::kill(-child, SIGKILL);
  if (!in_time) TEMP_FAILURE_RETRY(::waitpid(child, &status, 0));
  ChildResult result{read_report(report.get()), {}};
  result.death = in_time ? death_of(status, result.report.ended, read_file(printed.get()))
                         : concat("it ran for more than ", limit_s, " s, and was ended");
  return result;
}

}  // namespace flowtrain::plugin_kit
