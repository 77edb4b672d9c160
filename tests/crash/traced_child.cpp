#include "tests/crash/traced_child.h"

#include "sampling/core/error.h"

#if defined(__linux__) && defined(__x86_64__)

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <optional>
#include <span>
#include <utility>

#include "pipeline/base/snapshot/file.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

constexpr int untraceable = 125;  // the child's exit code where it cannot be traced
constexpr unsigned hang_s = 60;
constexpr int stopped_at_call = SIGTRAP | 0x80;  // PTRACE_O_TRACESYSGOOD

/// Both ends of a pipe.
struct Pipe {
  Pipe() {
    if (::pipe2(ends, O_CLOEXEC) != 0 || ::fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
      throw system_error("selftest", "pipe", errno);
  }
  Pipe(const Pipe&) = delete;
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int ends[2];
};

[[noreturn]] void be_child(int pipe, const std::function<void(const Report&)>& body) {
  if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(untraceable);
  ::raise(SIGSTOP);
  ::alarm(hang_s);
  const Report report = [pipe](const std::string& line) {
    const auto text = line + "\n";
    if (::write(pipe, text.data(), text.size()) != static_cast<ssize_t>(text.size())) ::_exit(1);
  };
  int code = 0;
  try {
    body(report);
  } catch (const std::exception& error) {
    report(std::string("died: ") + error.what());
    code = 1;
  }
  ::_exit(code);  // neither destructors nor buffers of the process that forked
}

/// The watching side of one child.
class Tracer {
 public:
  Tracer(pid_t pid, fs::path folder, const Pipe& pipe, const Fault& fault)
      : pid_(pid), folder_(std::move(folder)), pipe_(pipe), fault_(fault) {}
  Tracer(const Tracer&) = delete;
  ~Tracer() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  Trace run() {
    wait();
    if (ended())
      throw UserError(ExitCode::usage, "this process may not trace another one (ptrace)",
                      "in a container: --cap-add=SYS_PTRACE");
    request(PTRACE_SETOPTIONS, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
    int signal = 0;  // to be passed on to the child
    for (;;) {
      request(fired_ ? PTRACE_CONT : PTRACE_SYSCALL, signal);
      wait();
      if (ended()) break;
      signal = WSTOPSIG(status_);
      if (signal != stopped_at_call) continue;
      signal = 0;
      inside_ ? leave() : enter();
      inside_ = !inside_;
    }
    note_reports();
    return std::move(trace_);
  }

 private:
  void wait() {
    while (::waitpid(pid_, &status_, 0) < 0)
      if (errno != EINTR) throw system_error("selftest", "waitpid", errno);
  }

  bool ended() {
    if (WIFSTOPPED(status_)) return false;
    pid_ = -1;
    if (WIFEXITED(status_)) trace_.exit_code = WEXITSTATUS(status_);
    if (WIFSIGNALED(status_)) trace_.signal = WTERMSIG(status_);
    return true;
  }

  void request(__ptrace_request what, long data) {
    // ESRCH: it was killed meanwhile, which the next wait() tells.
    if (::ptrace(what, pid_, nullptr, data) != 0 && errno != ESRCH) throw system_error("selftest", "ptrace", errno);
  }

  user_regs_struct registers() {
    user_regs_struct values{};
    request(PTRACE_GETREGS, reinterpret_cast<long>(&values));
    return values;
  }
  void set_registers(user_regs_struct values) { request(PTRACE_SETREGS, reinterpret_cast<long>(&values)); }
  void skip_call() {
    auto values = registers();
    values.orig_rax = static_cast<unsigned long long>(-1);
    set_registers(values);
  }
  void kill() { ::kill(pid_, SIGKILL); }

  void enter() {
    const auto values = registers();
    const RawCall raw{static_cast<long>(values.orig_rax),
                      {values.rdi, values.rsi, values.rdx, values.r10, values.r8, values.r9}};
    reports_ = raw.number == SYS_write && static_cast<int>(raw.arguments[0]) == pipe_.ends[1];
    call_ = reports_ ? std::nullopt : decode_call(pid_, raw);
    if (call_ && !below_folder(call_->path)) call_.reset();
    if (!call_) return;
    fires_ = number_++ == fault_.at && fault_.kind != Fault::none;
    if (!fires_) return;
    if (fault_.kind == Fault::kill_before) {
      skip_call();
      kill();
    } else if (fault_.kind == Fault::fail && call_->action != Action::close) {
      skip_call();
    } else if (fault_.kind == Fault::short_write) {
      auto changed = values;
      bytes_asked_ = changed.rdx;
      changed.rdx /= 2;
      set_registers(changed);
    }
  }

  void leave() {
    if (reports_) return note_reports();
    if (!call_) return;
    auto values = registers();
    if (fires_ && fault_.kind == Fault::fail) {
      values.rax = static_cast<unsigned long long>(-fault_.error);
      set_registers(values);
    } else if (fires_ && fault_.kind == Fault::short_write) {
      values.rdx = bytes_asked_;  // a call leaves this register as it was
      set_registers(values);
    }
    call_->result = static_cast<long>(values.rax);
    trace_.calls.push_back(std::move(*call_));
    if (fires_ && fault_.kind == Fault::kill_after) kill();
    fired_ = fires_;
  }

  /// Takes the lines that are in the pipe by now.
  void note_reports() {
    std::array<char, 4096> buffer;
    for (;;) {
      const auto got = ::read(pipe_.ends[0], buffer.data(), buffer.size());
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) throw system_error("selftest", "read", errno);
      for (const char byte : std::span(buffer).first(static_cast<std::size_t>(got))) {
        if (byte != '\n') {
          line_ += byte;
          continue;
        }
        trace_.calls.push_back({.name = "report", .action = Action::report, .text = std::move(line_)});
        line_.clear();
      }
    }
  }

  bool below_folder(const fs::path& path) const {
    const auto& text = path.native();
    const auto& folder = folder_.native();
    return text.starts_with(folder) && (text.size() == folder.size() || text[folder.size()] == '/');
  }

  pid_t pid_;
  fs::path folder_;
  const Pipe& pipe_;
  Fault fault_;
  int status_ = 0;
  bool inside_ = false;  // stopped between a call's beginning and its end
  Trace trace_;
  std::string line_;  // the beginning of the next report
  std::uint64_t number_ = 0;
  bool fired_ = false;  // from then on the child runs unwatched

  // The call that is going on.
  std::optional<TracedCall> call_;
  bool reports_ = false;
  bool fires_ = false;  // the fault is to hit it
  unsigned long long bytes_asked_ = 0;
};

}  // namespace

Trace run_traced(const fs::path& folder, const std::function<void(const Report&)>& body, const Fault& fault) {
  const Pipe pipe;
  const pid_t pid = ::fork();
  if (pid < 0) throw system_error("selftest", "fork", errno);
  if (pid == 0) be_child(pipe.ends[1], body);
  return Tracer(pid, fs::canonical(folder), pipe, fault).run();
}

}  // namespace flowtrain

#else

namespace flowtrain {

Trace run_traced(const std::filesystem::path&, const std::function<void(const Report&)>&, const Fault&) {
  throw UserError(ExitCode::usage, "system calls can only be watched on Linux, x86-64");
}

}  // namespace flowtrain

#endif

namespace flowtrain {

std::string why_no_tracing() {
  try {
    run_traced("/", [](const Report&) {});
    return {};
  } catch (const UserError& error) {
    return error.what();
  }
}

}  // namespace flowtrain
