#include "pipeline/base/launch/signal_pipe.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <iterator>
#include <system_error>

#include "sampling/core/error.h"
#include "stages/system/signals.h"

namespace flowtrain {
namespace {

constexpr unsigned char sent_by_terminal = 0x80;  // above all signal numbers

std::atomic<bool> installed = false;
std::array<struct sigaction, std::size(signal_rules)> old_actions;
struct sigaction old_child_action {};
std::array<int, 2> pipe_ends = {-1, -1};

// Calls only functions that signal-safety(7) allows. A full pipe loses a signal of which there are thousands already.
void on_signal(int signal, siginfo_t* info, void*) {
  const int saved_errno = errno;
  const auto byte = static_cast<unsigned char>(signal | (info->si_code == SI_KERNEL ? sent_by_terminal : 0));
  (void)!::write(pipe_ends[1], &byte, 1);
  errno = saved_errno;
}

}  // namespace

SignalPipe::SignalPipe() {
  if (installed.exchange(true)) throw InternalError("two SignalPipe objects at a time");
  if (::pipe2(pipe_ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    const int error = errno;
    installed = false;
    throw UserError(ExitCode::distributed, "cannot make a pipe: " + std::generic_category().message(error),
                    "Raise the limit on open files (ulimit -n).");
  }
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NOCLDSTOP;
  for (std::size_t i = 0; i < old_actions.size(); ++i) {
    const SignalRule& rule = signal_rules[i];
    ::sigaction(rule.signal, nullptr, &old_actions[i]);
    if (rule.action != OnSignal::ignore && old_actions[i].sa_handler != SIG_IGN)
      ::sigaction(rule.signal, &action, nullptr);
  }
  ::sigaction(SIGCHLD, &action, &old_child_action);
}

SignalPipe::~SignalPipe() {
  restore_handlers();
  for (int end : pipe_ends) ::close(end);
  installed = false;
}

std::optional<SignalPipe::Arrived> SignalPipe::take() {
  unsigned char byte = 0;
  while (::read(pipe_ends[0], &byte, 1) == 1) {
    const int signal = byte & ~sent_by_terminal;
    if (signal != SIGCHLD) return Arrived{.signal = signal, .from_terminal = (byte & sent_by_terminal) != 0};
  }
  return std::nullopt;
}

void SignalPipe::wait(std::optional<std::chrono::steady_clock::time_point> deadline) {
  using namespace std::chrono;
  pollfd ready{.fd = pipe_ends[0], .events = POLLIN, .revents = 0};
  int timeout_ms = -1;
  if (deadline) {
    const auto left = ceil<milliseconds>(*deadline - steady_clock::now());
    timeout_ms = static_cast<int>(std::clamp(left, 0ms, milliseconds(24h)).count());
  }
  (void)::poll(&ready, 1, timeout_ms);  // interrupted or too early: the caller looks at the time itself
}

void SignalPipe::restore_handlers() {
  for (std::size_t i = 0; i < old_actions.size(); ++i) ::sigaction(signal_rules[i].signal, &old_actions[i], nullptr);
  ::sigaction(SIGCHLD, &old_child_action, nullptr);
}

}  // namespace flowtrain
