#include "pipeline/train/run_flags.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "pipeline/telemetry/interrupt.h"
#include "pipeline/train/on_error.h"
#include "sampling/core/error.h"

namespace flowtrain {

StepFlags RunFlags::own(std::size_t bad_samples, bool step_failed) const {
  StepFlags flags;
  flags[Flag::bad_samples] = static_cast<double>(bad_samples);
  const auto signal = interrupt_ ? interrupt_->requested() : std::nullopt;
  if (signal) flags[*signal == SIGINT ? Flag::interrupted : Flag::terminated] = 1;
  flags[Flag::snapshot_failed] = snapshots_ && snapshots_->has_failed();
  flags[Flag::out_of_time] = early_stop_.out_of_time(state_.elapsed_s);
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
  if (all[Flag::snapshot_failed] == 0) return;
  if (snapshots_) snapshots_->check();
  throw UserError(Exit::snapshot, "rank 0 could not write a snapshot");
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

// The ranks agree about twice a second where batches take as long as the last ones, and after every 50th question at
// the latest: each agreement makes them wait for each other. When the next one is follows from times that all know.
bool RunFlags::validation_goes_on() {
  constexpr double between_agreements_s = 0.5, most = 50;
  if (!travel()) return !asked_to_end();
  if (end_.signal || ++asked_ < agrees_after_) return !end_.signal;
  const StepFlags own = this->own(0, false);
  const auto now = std::chrono::steady_clock::now();
  std::array<double, 3> all = {own[Flag::interrupted], own[Flag::terminated],
                               std::chrono::duration<double>(now - std::exchange(agreed_, now)).count()};
  group_.sum("whether a validation goes on", all);
  if (all[0] + all[1] > 0) end_.signal = all[1] > 0 ? SIGTERM : SIGINT;
  const double question_s = all[2] / group_.size() / static_cast<double>(std::exchange(asked_, 0));
  agrees_after_ = static_cast<std::uint64_t>(std::clamp(between_agreements_s / question_s, 1., most));
  return !end_.signal;
}

std::stop_token RunFlags::cancels_reads() const {
  return interrupt_ && !travel() ? interrupt_->token() : std::stop_token();
}

}  // namespace flowtrain
