#include "pipeline/base/telemetry/interrupt.h"

#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "pipeline/base/telemetry/console.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/system/named_thread.h"
#include "stages/system/signals.h"

namespace flowtrain {
namespace {

// A signal handler may touch only lock-free atomics.
std::atomic<bool> installed = false;
std::atomic<int> first_signal = 0;  // 0: none yet
std::atomic<std::int64_t> first_signal_ms = 0;
std::atomic<std::int64_t> same_signal_ms = 0;
std::atomic<std::uint64_t> requested_snapshots = 0;
std::atomic<bool> on_terminal = false;
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

std::array<struct sigaction, std::size(signal_rules)> old_actions;

// A semaphore is the only way for a handler to wake a thread. The first signal posts it, and the end of the Interrupt.
sem_t wake;
std::atomic<bool> over = false;
std::atomic<std::int64_t> grace_ns = 0;

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);  // async-signal-safe, which std::chrono does not promise
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

// Writes unless that would block: a stopped terminal or a pipe without a reader must not hold the process.
void say_at_once(std::string_view text) {
  constexpr std::string_view erase_bar = "\r\033[J";
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&ready, 1, 0) != 1) return;
  if (on_terminal) (void)!::write(STDERR_FILENO, erase_bar.data(), erase_bar.size());
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

// Calls only functions that signal-safety(7) allows.
void on_signal(int signal) {
  int saved_errno = errno;
  auto now = now_ms();
  // The time comes first: a handler on another thread that sees the signal also sees its time.
  std::int64_t no_time = 0;
  first_signal_ms.compare_exchange_strong(no_time, now);
  int no_signal = 0;
  bool first = first_signal.compare_exchange_strong(no_signal, signal);
  if (!first && !may_repeat(signal) && now - first_signal_ms >= same_signal_ms) {
    say_at_once("stopped at once by a second signal\n");
    ::_exit(Interrupt::exit_code(signal));
  }
  if (first) ::sem_post(&wake);
  errno = saved_errno;
}

void on_snapshot_request(int) { ++requested_snapshots; }

timespec now_plus(std::int64_t nanoseconds) {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  nanoseconds += time.tv_nsec;
  time.tv_sec += nanoseconds / 1'000'000'000;
  time.tv_nsec = nanoseconds % 1'000'000'000;
  return time;
}

void (*handler_for(OnSignal action))(int) {
  if (action == OnSignal::ignore) return SIG_IGN;
  return action == OnSignal::snapshot ? on_snapshot_request : on_signal;
}

}  // namespace

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? concat("SIG", name) : concat("signal ", signal);
}

int Interrupt::exit_code(int signal) { return 128 + (signal == SIGINT ? SIGINT : SIGTERM); }

Interrupt::Interrupt(std::chrono::milliseconds same_signal) {
  if (installed.exchange(true)) throw InternalError("two Interrupt objects at a time");
  first_signal = 0;
  first_signal_ms = 0;
  requested_snapshots = 0;
  same_signal_ms = same_signal.count();
  on_terminal = console::is_terminal();
  over = false;
  ::sem_init(&wake, 0, 0);
  grace_ns = std::chrono::nanoseconds(std::chrono::hours(1)).count();
  deadline_ = named_thread("ft-deadline", [this] { watch_deadline(); });
  for (std::size_t i = 0; i < old_actions.size(); ++i) {
    const SignalRule& rule = signal_rules[i];
    ::sigaction(rule.signal, nullptr, &old_actions[i]);
    if (!takes(rule, old_actions[i])) continue;
    struct sigaction action {};
    action.sa_handler = handler_for(rule.action);
    action.sa_flags = SA_RESTART;  // reads and writes of other threads go on
    ::sigaction(rule.signal, &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < old_actions.size(); ++i) ::sigaction(signal_rules[i].signal, &old_actions[i], nullptr);
  over = true;
  ::sem_post(&wake);
  deadline_.join();
  installed = false;
}

void Interrupt::end_at_once() {
  MutexLock lock(mutex_);
  at_once_ = true;
  end_if_asked();
}

void Interrupt::saves_nothing() {
  MutexLock lock(mutex_);
  saves_ = false;
}

void Interrupt::set_cleanup(std::function<void()> cleanup) {
  MutexLock lock(mutex_);
  cleanup_ = std::move(cleanup);
}

void Interrupt::defer() {
  MutexLock lock(mutex_);
  ++deferrals_;
}

void Interrupt::undefer() {
  MutexLock lock(mutex_);
  --deferrals_;
  end_if_asked();
}

// This avoids the log's locks, which the working thread may hold.
void Interrupt::end_if_asked() {
  const int signal = first_signal;
  if (signal == 0 || !at_once_ || deferrals_ > 0) return;
  if (cleanup_) cleanup_();
  const std::string text =
      concat("interrupted by ", signal_name(signal), saves_ ? " before there was anything to save\n" : "\n");
  if (console_level() != ConsoleLevel::quiet) say_at_once(text);
  if (const int file = open_log_file(); file >= 0) (void)!::write(file, text.data(), text.size());
  ::_exit(exit_code(signal));
}

// Ends the process at once if there is nothing to save, or if a clean end takes longer than the grace period.
void Interrupt::watch_deadline() {
  TEMP_FAILURE_RETRY(::sem_wait(&wake));
  const int signal = first_signal;
  if (signal != 0) {
    MutexLock lock(mutex_);
    end_if_asked();
  }
  if (signal != 0) stop_.request_stop();
  for (auto end = now_plus(grace_ns); !over;) {
    if (signal == SIGINT) {
      TEMP_FAILURE_RETRY(::sem_wait(&wake));  // no deadline: the user can press Ctrl-C again
    } else if (::sem_clockwait(&wake, CLOCK_MONOTONIC, &end) == 0) {
      end = now_plus(grace_ns);  // waits for another grace period, or the end
    } else if (errno == ETIMEDOUT) {
      say_at_once(
          "the run did not end within the grace period (run.grace_seconds) and was stopped; the newest snapshot is an "
          "earlier one\n");
      ::_exit(exit_code(signal));
    }
  }
}

void Interrupt::set_grace(std::chrono::duration<double> grace) {
  grace_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(grace).count();
  if (first_signal != 0) ::sem_post(&wake);
}

std::uint64_t Interrupt::snapshot_requests() const { return requested_snapshots; }

std::optional<int> Interrupt::requested() const {
  int signal = first_signal;
  return signal == 0 ? std::nullopt : std::optional(signal);
}

}  // namespace flowtrain
