#include "pipeline/engine/train/run_flags.h"

#include <csignal>

#include "pipeline/base/errors/agree_on_error.h"
#include "pipeline/base/errors/policies.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "sampling/core/error.h"

namespace flowtrain {

SnapshotWords::SnapshotWords(const StepFlags& all) {
  const int words = static_cast<int>(all[Flag::snapshot_failed]);
  failed = words & 1;
  wanted = words & 2;
}

StepFlags RunFlags::own(std::size_t bad_samples, bool step_failed) const {
  StepFlags flags;
  flags[Flag::bad_samples] = static_cast<double>(bad_samples);
  const auto signal = interrupt ? interrupt->requested() : std::nullopt;
  if (signal) flags[*signal == SIGINT ? Flag::interrupted : Flag::terminated] = 1;
  flags[Flag::snapshot_failed] = SnapshotWords(snapshots && snapshots->has_failed(), wants_snapshot).flag();
  flags[Flag::out_of_time] = early_stop.out_of_time(state.elapsed_s);
  flags[Flag::stopped] = !hooks.stop_reason().empty();
  flags[Flag::step_failed] = step_failed;
  return flags;
}

void RunFlags::apply(const StepFlags& all) {
  if (all[Flag::terminated] > 0)
    end.signal = SIGTERM;
  else if (all[Flag::interrupted] > 0)
    end.signal = SIGINT;
  else if (all[Flag::out_of_time] > 0)
    stop(early_stop.out_of_time_text());
  else if (all[Flag::stopped] > 0)
    stop(hooks.stop_reason().empty() ? "a hook of another process asked for it" : hooks.stop_reason());
  if (!SnapshotWords(all).failed) return;
  if (snapshots) snapshots->check();
  throw FailedElsewhere(ExitCode::snapshot, "rank 0 could not write a snapshot, or has lost the run's folder");
}

void RunFlags::look_again() {
  if (travel() || end) return;
  StepFlags now = own(0, false);
  now[Flag::out_of_time] = 0;
  apply(now);
}

void RunFlags::look_for_signal() {
  if (travel() || !asked_to_end()) return;
  const StepFlags now = own(0, false);
  end.signal = now[Flag::terminated] > 0 ? SIGTERM : SIGINT;
}

void RunFlags::look_at_hooks() {
  if (!travel()) stop(hooks.stop_reason());
}

void RunFlags::stop_with_error(const std::exception_ptr& error) try {
  end.error = error;
  end.stopped = summary_of(error);
  std::rethrow_exception(error);
} catch (const std::exception& thrown) {
  hooks.on_exception(thrown);
}

void RunFlags::stop(const std::string& reason) {
  if (end.stopped.empty()) end.stopped = reason;
}

bool RunFlags::asked_to_end() const { return interrupt && interrupt->requested(); }

bool RunFlags::validation_goes_on() {
  const auto signal = agreement.ask(interrupt ? interrupt->requested() : std::nullopt);
  if (signal) end.signal = signal;
  return !signal;
}

std::stop_token RunFlags::cancels_reads() const {
  return interrupt && !travel() ? interrupt->token() : std::stop_token();
}

}  // namespace flowtrain
