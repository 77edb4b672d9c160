// The trainer's validations: inline, where training waits, or overlapped. What an overlapped one has shown takes effect
// just before the next one, or at the end: an iteration that does not depend on how long it took, so that each run is
// the same.

#include "pipeline/telemetry/interrupt.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/train/trainer.h"
#include "stages/profile.h"

namespace flowtrain {

// What the one before has shown takes effect first, whatever time that took.
void Trainer::validate(std::uint64_t iteration) {
  const auto begin = Clock::now();
  const Profile::At at(parts_.profile, Phase::validation);
  if (take_in_validation() && result_.stopped.empty()) {
    if (overlapped_ && iteration != parts_.schedule.last)
      launch_validation(iteration);
    else
      validate_inline(iteration);
  }
  const auto taken = Clock::now() - begin;
  since_ += taken;  // validation is no part of the training line's pace
  epoch_since_ += taken;
}

// An interrupted validation is left to the resumed run, from its start, as is one whose error ends the run.
void Trainer::validate_inline(std::uint64_t iteration) {
  call(Point::validation_begin);
  const auto goes_on = [this] { return validation_goes_on(); };
  const auto found =
      validate_sets(parts_.validation, *parts_.learner, iteration, goes_on, *parts_.group, parts_.val_errors.action);
  if (found.error) answer(iteration, found.error);
  state_.validation_pending = !found.figures && !is_left_out(found);
  if (!found.figures) return;
  decide(*found.figures);
  const auto [links, ranked] = enter(iteration, found);
  if (!ranked) return;
  add_rollback_target();
  snapshot(SnapshotReason::best, links);
}

// The snapshot may turn out to be the best, and has the weights where a signal ends the validation. Who resumes from it
// begins with this validation.
void Trainer::launch_validation(std::uint64_t iteration) {
  add_rollback_target();
  if (snapshot_taken_ != iteration) snapshot(SnapshotReason::best);
  call(Point::validation_begin);
  state_.validation_pending = false;
  state_.awaited = AwaitedValidation{iteration};
  parts_.net_copy->take();
  overlapped_->start(*parts_.net_copy, iteration);
}

// Where a signal ended one.
void Trainer::resume_validation() {
  if (!state_.awaited || state_.awaited->figures) return;
  const std::uint64_t iteration = state_.awaited->iteration;
  const auto snapshot = overlapped_ && parts_.snapshots ? parts_.snapshots->open(iteration) : std::nullopt;
  if (snapshot) {
    parts_.net_copy->load(read_tensors(*snapshot, parts_.averages).model);
    overlapped_->start(*parts_.net_copy, iteration);
    return;
  }
  warn(say("the validation of iteration ", iteration, ", which was interrupted, is left out: ",
           overlapped_ ? "its snapshot is gone" : "validation is no longer overlapped"));
  state_.awaited.reset();
}

// The figures as soon as they are there: they are shown and ranked, which training does not depend on.
void Trainer::collect_validation() {
  const auto found = overlapped_->finish();
  if (found.error) answer(state_.awaited->iteration, found.error);
  if (is_left_out(found)) state_.awaited.reset();
  if (!found.figures) return;
  state_.awaited->figures = found.figures;
  const auto links = enter(state_.awaited->iteration, found).links;
  if (!links.empty() && parts_.snapshots) parts_.snapshots->mark(state_.awaited->iteration, state_, links);
}

// A resumed run begins it anew.
void Trainer::give_up_validation() {
  if (!overlapped_ || !overlapped_->under_way()) return;
  overlapped_->give_up();
  collect_validation();
}

// What training does depend on waits for an iteration that is known beforehand. False where a signal came before the
// figures.
bool Trainer::take_in_validation() {
  if (overlapped_ && overlapped_->under_way()) collect_validation();
  if (!state_.awaited) return true;
  if (!state_.awaited->figures) return false;
  const Figures figures = *state_.awaited->figures;
  state_.awaited.reset();
  decide(figures);
  return true;
}

// What follows from a validation for the training to come.
void Trainer::decide(const Figures& figures) {
  call(Point::validation_end, figures);
  parts_.early_stop.enter(state_.early_stop, figures);
  if (result_.stopped.empty()) result_.stopped = parts_.early_stop.reason(state_.early_stop);
  bool moved = false;
  for (std::size_t i = 0; i < parts_.plateaus.size(); ++i)
    moved |= parts_.plateaus[i].enter(state_.plateaus[i], figures);
  if (moved) set_rates(state_.iteration + 1);
}

// Whether an error keeps it from being made for good; one that ends the run leaves it to the resumed one.
bool Trainer::is_left_out(const Validated& found) const {
  return found.error && parts_.val_errors.action == ErrorPolicy::Action::skip;
}

// To an error that ended a validation.
void Trainer::answer(std::uint64_t iteration, const std::exception_ptr& error) {
  if (parts_.val_errors.action != ErrorPolicy::Action::skip) return end_with(error);
  warn(say("no validation at iteration ", iteration, ": ", summary_of(error)));
  count_validation();
}

// The next one begins after it.
void Trainer::count_validation() {
  for (auto& set : parts_.validation) {
    auto& state = state_.validation[set.name];
    state.batches += set.batches;
    state.bad_samples = set.bad_samples.ids();
  }
}

// Into the run's state, and shown.
Trainer::Entered Trainer::enter(std::uint64_t iteration, const Validated& found) {
  count_validation();
  Entered entered;
  auto& links = entered.links;
  for (auto& rule : parts_.best) {
    const auto rank = rule.enter(state_.best, iteration, *found.figures);
    entered.ranked |= rank.has_value();
    if (rank == std::size_t{0}) links.push_back(rule.link);
  }
  parts_.display->validation(iteration, *found.figures, !links.empty() && links.front() == parts_.best.front().link,
                             found.confusion ? &*found.confusion : nullptr, found.replaced);
  return entered;
}

}  // namespace flowtrain
