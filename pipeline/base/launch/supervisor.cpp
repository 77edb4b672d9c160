#include "pipeline/base/launch/supervisor.h"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "pipeline/base/launch/child_process.h"
#include "pipeline/base/launch/launchers.h"
#include "pipeline/base/launch/signal_pipe.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/log.h"
#include "sampling/core/error.h"
#include "stages/system/signals.h"

namespace flowtrain {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int peer_lost = static_cast<int>(ExitCode::distributed);
constexpr auto between_questions = std::chrono::milliseconds(500);

/// The end of a process.
struct End {
  int rank = 0;
  int code = 0;    ///< exit code
  int signal = 0;  ///< signal that killed it; 0: it ended by itself

  bool by_request() const { return asks_to_end(signal); }
  bool only_lost_peer() const { return signal == 0 && code == peer_lost; }
  /// Returns whether the exit code is the program's own (sampling/core/error.h): the rank has shown its error itself.
  bool has_shown_error() const {
    return signal == 0 && ((code >= static_cast<int>(ExitCode::usage) && code <= peer_lost) ||
                           code == static_cast<int>(ExitCode::bug));
  }
  bool may_restart() const { return signal != 0 || code == peer_lost; }
  int exit_code() const { return signal != 0 ? peer_lost : code; }
  std::string how() const {
    return signal == 0 ? concat("ended with exit code ", code) : "was killed by " + signal_name(signal);
  }
};

bool is_clean(int code) {
  return code == 0 || code == Interrupt::exit_code(SIGINT) || code == Interrupt::exit_code(SIGTERM);
}

/// Runs in a rank before its program: a request for a snapshot must not end the rank before it handles them.
void prepare_signals() {
  SignalPipe::restore_handlers();
  ::signal(SIGUSR2, SIG_IGN);
}

/// The ranks of a node from one start to their end.
class Ranks {
 public:
  Ranks(SignalPipe& signals, const SuperviseOptions& options) : signals_(signals), options_(options) {}

  ~Ranks() {
    send(SIGKILL);
    for (auto& child : children_)
      if (child.pid > 0) TEMP_FAILURE_RETRY(::waitpid(child.pid, nullptr, 0));
  }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  void start(const SpawnPlan& plan, const std::string& url, const std::vector<std::string>& command, int restart) {
    for (int i = 0; i < plan.processes; ++i) {
      const RankInfo place{.rank = plan.first_rank + i,
                           .world = plan.world,
                           .local_rank = i,
                           .local_world = plan.processes,
                           .node = plan.node,
                           .launcher = Launcher::spawn,
                           .url = url,
                           .restart = restart};
      const pid_t pid = start_process(command, spawned_variables(place), prepare_signals);
      children_.push_back({place.rank, pid});
    }
    pass_signals_on(true);  // the terminal's signals did not reach ranks that were still starting
  }

  void wait_for_all() {
    for (;;) {
      pass_signals_on();
      if (const auto ends = reap(); !ends.empty()) {
        pass_signals_on();  // the signal that ended them came before their end
        for (const auto& end : ends) judge(end);
        continue;
      }
      const bool all_ended = std::ranges::none_of(children_, [](auto& child) { return child.pid > 0; });
      if (blamed_ && !reported_ && (all_ended || Clock::now() >= failed_at_ + options_.blame_wait)) report();
      if (all_ended) return;
      hear_of_others();
      if (is_over() && Clock::now() >= deadline_) end_the_others();
      signals_.wait(next_deadline());
    }
  }

  const std::optional<End>& blamed() const { return blamed_; }
  bool asked_to_end() const { return asked_; }
  /// Returns the code of a node where no rank failed: 0, 130 or 143.
  int clean_code() const { return clean_code_; }

 private:
  struct Child {
    int rank = 0;
    pid_t pid = 0;  ///< 0: it has ended, and another process may have the number
  };

  void send(int signal) {
    for (const auto& child : children_)
      if (child.pid > 0) ::kill(child.pid, signal);
  }

  void pass_signals_on(bool terminals_too = false) {
    while (const auto arrived = signals_.take()) {
      if (arrived->signal == SIGUSR2) {  // the signal asks for a snapshot and not for the end
        send(SIGUSR2);
        continue;
      }
      asked_ = true;
      // A closing terminal signals its first process alone; a second SIGHUP does a rank no harm.
      if (terminals_too || !arrived->from_terminal || arrived->signal == SIGHUP) send(arrived->signal);
    }
  }

  std::vector<End> reap() {
    std::vector<End> ends;
    for (auto& child : children_) {
      int status = 0;
      if (child.pid == 0 || ::waitpid(child.pid, &status, WNOHANG) != child.pid) continue;
      child.pid = 0;
      ends.push_back(
          {child.rank, WIFEXITED(status) ? WEXITSTATUS(status) : 0, WIFSIGNALED(status) ? WTERMSIG(status) : 0});
    }
    return ends;
  }

  void judge(const End& end) {
    // A rank that could not catch the signal yet was interrupted, too.
    const bool interrupted = asked_ && end.by_request();
    if (interrupted || (end.signal == 0 && is_clean(end.code))) {
      clean_code_ = std::max(clean_code_, interrupted ? Interrupt::exit_code(end.signal) : end.code);
      if (is_excused(blamed_)) blamed_.reset();
    } else if (is_excused(end)) {
      return;
    } else if (!blamed_ && last_sent_ != 0) {
      blamed_ = End{.rank = end.rank, .code = peer_lost};
      reported_ = true;
      log_error(concat("rank ", end.rank, " did not end by itself after: ", job_failure_));
    } else if (!blamed_) {
      blamed_ = end;
      failed_at_ = Clock::now();
      deadline_ = failed_at_ + options_.grace;
      if (!end.only_lost_peer()) report();
    } else if (!reported_ && !end.only_lost_peer() && last_sent_ == 0) {
      blamed_ = end;
      report();
    }
  }

  // Returns whether the rank lost another one, which had ended as requested.
  bool is_excused(const std::optional<End>& end) const {
    return end && end->only_lost_peer() && asked_ && clean_code_ > 0 && !reported_;
  }

  void report() {
    reported_ = true;
    const std::string text = concat("rank ", blamed_->rank, " ", blamed_->how());
    blamed_->has_shown_error() ? log_info(text) : log_error(text);
    if (options_.on_death) options_.on_death(blamed_->rank, blamed_->how());
  }

  bool is_over() const { return blamed_ || !job_failure_.empty(); }

  void hear_of_others() {
    if (is_over() || !options_.job_failure) return;
    job_failure_ = options_.job_failure();
    deadline_ = Clock::now() + options_.grace;
  }

  void end_the_others() {
    last_sent_ = last_sent_ == 0 ? SIGTERM : SIGKILL;
    send(last_sent_);
    deadline_ = Clock::now() + options_.kill_after;
  }

  std::optional<Clock::time_point> next_deadline() const {
    if (!is_over()) return options_.job_failure ? std::optional(Clock::now() + between_questions) : std::nullopt;
    return reported_ || !blamed_ ? deadline_ : std::min(deadline_, failed_at_ + options_.blame_wait);
  }

  SignalPipe& signals_;
  const SuperviseOptions& options_;
  std::vector<Child> children_;
  std::optional<End> blamed_;
  bool reported_ = false;
  std::string job_failure_;  ///< failure on another node
  Clock::time_point failed_at_;
  Clock::time_point deadline_;  ///< end of the grace period, later of the next signal
  int last_sent_ = 0;           ///< SIGTERM or SIGKILL, sent to ranks that did not end by themselves
  bool asked_ = false;
  int clean_code_ = 0;
};

}  // namespace

int supervise(const SpawnPlan& plan, const std::string& url, const std::vector<std::string>& command,
              const SuperviseOptions& options) {
  SignalPipe signals;
  for (int restart = 0;; ++restart) {
    if (options.on_start) options.on_start(restart);
    Ranks ranks(signals, options);
    ranks.start(plan, url, command, restart);
    ranks.wait_for_all();
    const auto& blamed = ranks.blamed();
    if (!blamed) return ranks.clean_code();
    if (!blamed->may_restart() || ranks.asked_to_end() || restart >= plan.max_restarts) return blamed->exit_code();
    log_warn(concat("starting all ranks again after rank ", blamed->rank, " ", blamed->how(), " (restart ", restart + 1,
                    " of ", plan.max_restarts, ")"));
  }
}

}  // namespace flowtrain
