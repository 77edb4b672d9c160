#pragma once
// Defines the program's reaction to each signal that would end it, and prepares the standard streams.

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace flowtrain {

/// The reaction of a process of the program to a signal.
enum class OnSignal {
  end,       ///< ends after a snapshot; another such signal ends it at once
  end_once,  ///< end, but it may come several times for one reason, and is never a second signal
  snapshot,  ///< saves a snapshot and goes on
  ignore,    ///< the call that caused it fails with an error, which is reported
};

struct SignalRule {
  int signal;
  OnSignal action;
  bool only_if_default = false;  ///< keeps the reaction of a process that ignored or handled it before
};

/// The other signals keep their defaults: SIGKILL and SIGSTOP cannot be handled, SIGQUIT (Ctrl-\) is a request for an
/// end at once with a core dump, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV (also a stack beyond `ulimit -s`), SIGSYS and
/// SIGTRAP are faults, and nobody but libraries sends real-time signals. Limits that fail a call instead (`ulimit -n`,
/// -u, -v, -l) have no signal.
inline constexpr SignalRule signal_rules[] = {
    {SIGINT, OnSignal::end},              // Ctrl-C
    {SIGTERM, OnSignal::end},             // kill, container engines, launchers
    {SIGUSR1, OnSignal::end},             // Slurm sends it some time before the end
    {SIGHUP, OnSignal::end_once},         // a closing terminal sends it several times
    {SIGXCPU, OnSignal::end_once, true},  // ulimit -t: the kernel repeats it each second
    {SIGALRM, OnSignal::end_once, true},  // timers that outlive an exec
    {SIGVTALRM, OnSignal::end_once, true},
    {SIGPROF, OnSignal::end_once, true},  // a profiler that handles it keeps it
    {SIGPWR, OnSignal::end, true},
    {SIGIO, OnSignal::end, true},
    {SIGSTKFLT, OnSignal::end, true},
    {SIGUSR2, OnSignal::snapshot},
    {SIGPIPE, OnSignal::ignore},  // `flowtrain … | tee log`: Ctrl-C ends tee first, and the snapshot must be written
    {SIGXFSZ, OnSignal::ignore},  // ulimit -f: a write fails with EFBIG
};

/// Returns whether a signal asks a process to end.
inline bool asks_to_end(int signal) {
  return std::ranges::any_of(signal_rules, [&](auto& rule) {
    return rule.signal == signal && (rule.action == OnSignal::end || rule.action == OnSignal::end_once);
  });
}

/// Returns whether the signal is never a second signal.
inline bool may_repeat(int signal) {
  return std::ranges::any_of(signal_rules,
                             [&](auto& rule) { return rule.signal == signal && rule.action == OnSignal::end_once; });
}

/// Returns whether a handler may replace `old`.
inline bool takes(const SignalRule& rule, const struct sigaction& old) {
  if (rule.signal == SIGHUP) return old.sa_handler != SIG_IGN;  // nohup(1) ignores it
  return !rule.only_if_default || old.sa_handler == SIG_DFL;
}

/// Lowers the soft limit on processor time by a tenth, at most half a minute, if both limits are equal (`ulimit -t`):
/// the kernel would kill without SIGXCPU, and leave no time for a snapshot.
inline void leave_time_for_the_end() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_CPU, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur < limit.rlim_max)
    return;
  limit.rlim_cur -= std::min<rlim_t>({limit.rlim_cur / 10 + 1, 30, limit.rlim_cur - 1});
  ::setrlimit(RLIMIT_CPU, &limit);
}

/// Comes first in main(): opens /dev/null if standard input, output or error is closed, as some daemons leave it.
/// Messages would be written into a file that got such a number. Signals that stand for a failed call are ignored.
inline void prepare_descriptors_and_signals() {
  for (int each = STDIN_FILENO; each <= STDERR_FILENO; ++each)
    if (::fcntl(each, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDWR) < 0)
      static_cast<void>(::open("/", O_RDONLY | O_DIRECTORY));  // any file that takes no writes replaces a missing /dev
  for (auto& rule : signal_rules)
    if (rule.action == OnSignal::ignore) ::signal(rule.signal, SIG_IGN);
  leave_time_for_the_end();
  ::signal(SIGCHLD, SIG_DFL);  // a parent may have ignored it, and then nobody would learn how a child has ended
}

}  // namespace flowtrain
