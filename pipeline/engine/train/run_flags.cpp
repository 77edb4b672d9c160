#include "pipeline/engine/train/run_flags.h"

#include <csignal>

#include "pipeline/base/errors/agree_on_error.h"
#include "pipeline/base/errors/policies.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "sampling/core/error.h"

namespace flowtrain {

SnapshotFlags::SnapshotFlags(const StepFlags& all) {
  const int value = static_cast<int>(all[Flag::snapshot_failed]);
  failed = value & 1;
  wanted = value & 2;
}

StepFlags RunFlags::own(std::size_t bad_samples, bool step_failed) const {
  StepFlags flags;
  flags[Flag::bad_samples] = static_cast<double>(bad_samples);
  const auto signal = interrupt_ ? interrupt_->requested() : std::nullopt;
  if (signal) flags[*signal == SIGINT ? Flag::interrupted : Flag::terminated] = 1;
  flags[Flag::snapshot_failed] = SnapshotFlags(snapshots_ && snapshots_->has_failed(), wants_snapshot_).value();
  flags[Flag::out_of_time] = early_stop_.out_of_time(progress_.elapsed_s);
  flags[Flag::stopped] = !hooks_.stop_reason().empty();
  flags[Flag::step_failed] = step_failed;
  return flags;
}

void RunFlags::apply(const StepFlags& all) {
  if (all[Flag::terminated] > 0)
    end_.signal = SIGTERM;
  else if (all[Flag::interrupted] > 0)
    end_.signal = SIGINT;
  else if (all[Flag::out_of_time] > 0)
    stop(early_stop_.out_of_time_text());
  else if (all[Flag::stopped] > 0)
    stop(hooks_.stop_reason().empty() ? "a hook of another process asked for it" : hooks_.stop_reason());
  if (!SnapshotFlags(all).failed) return;
  if (snapshots_) snapshots_->check();
  throw FailedElsewhere(ExitCode::snapshot, "rank 0 could not write a snapshot, or has lost the run's folder");
}

void RunFlags::look_again() {
  if (travel() || end_) return;
  StepFlags now = own(0, false);
  now[Flag::out_of_time] = 0;
  apply(now);
}

void RunFlags::look_for_signal() {
  if (travel() || !asked_to_end()) return;
  const StepFlags now = own(0, false);
  end_.signal = now[Flag::terminated] > 0 ? SIGTERM : SIGINT;
}

void RunFlags::look_at_hooks() {
  if (!travel()) stop(hooks_.stop_reason());
}

void RunFlags::look_at_time() {
  if (early_stop_.out_of_time(progress_.elapsed_s)) stop(early_stop_.out_of_time_text());
}

void RunFlags::stop_with_error(const std::exception_ptr& error) try {
  end_.error = error;
  end_.stopped = summary_of(error);
  std::rethrow_exception(error);
} catch (const std::exception& thrown) {
  hooks_.on_exception(thrown);
}

void RunFlags::stop(const std::string& reason) {
  if (end_.stopped.empty()) end_.stopped = reason;
}

bool RunFlags::asked_to_end() const { return interrupt_ && interrupt_->requested(); }

bool RunFlags::validation_goes_on() {
  const auto signal = agreement_.ask(interrupt_ ? interrupt_->requested() : std::nullopt);
  if (signal) end_.signal = signal;
  return !signal;
}

std::stop_token RunFlags::cancels_reads() const {
  return interrupt_ && !travel() ? interrupt_->token() : std::stop_token();
}

}  // namespace flowtrain
