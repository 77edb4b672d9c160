#include "pipeline/engine/train/validations.h"

#include <memory>
#include <set>
#include <utility>

#include "pipeline/engine/train/reports.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

Scalars both(Scalars scalars, const Scalars& more) {
  scalars.insert(scalars.end(), more.begin(), more.end());
  return scalars;
}

}  // namespace

Validations::Validations(std::vector<ValidationSet> sets, ValidationRules rules, OverlappedValidation* beside,
                         ValidationReplica* replica, const ValidationContext& context)
    : sets_(std::move(sets)), rules_(std::move(rules)), overlapped_(beside), replica_(replica), run_(context) {
  for (auto& set : sets_) set.bad_samples.restore(run_.state.validation[set.name].bad_samples);
}

void Validations::start_loaders() {
  for (auto& set : sets_) set.loader.start();
}

void Validations::stop_loaders() {
  for (auto& set : sets_) set.loader.stop();
}

void Validations::cancel_reads() const {
  for (auto& set : sets_) set.loader.cancel_reads();
}

// What the one before has shown takes effect first, whatever time that took.
void Validations::run(std::uint64_t iteration, bool last) {
  if (!take_in()) return;
  if (!run_.flags.end.stopped.empty()) return;
  if (overlapped_ && !last)
    launch(iteration);
  else
    run_inline(iteration);
}

// An interrupted validation is left to the resumed run, from its start, as is one whose error ends the run.
void Validations::run_inline(std::uint64_t iteration) {
  run_.hooks(HookEvent::validation_begin);
  const auto goes_on = [this] { return run_.flags.validation_goes_on(); };
  auto found = validate_sets(sets_, run_.learner, iteration, goes_on, run_.group, rules_.errors.action);
  if (found.error) on_error(iteration, found.error);
  run_.state.validation_pending = !found.scalars && !is_left_out(found);
  if (!found.scalars) return;
  const Scalars training = training_values();
  decide(*found.scalars, training);
  const auto [links, keeps] = record(iteration, found, training);
  if (!keeps) return;
  run_.judge.add_rollback_target(iteration);
  run_.snapshots.save(SnapshotReason::best, links);
}

// The snapshot may turn out to be the best, and has the weights where a signal ends the validation. Who resumes from it
// begins with this validation.
void Validations::launch(std::uint64_t iteration) {
  run_.judge.add_rollback_target(iteration);
  if (!run_.snapshots.has_newest()) run_.snapshots.save(SnapshotReason::best);
  run_.hooks(HookEvent::validation_begin);
  run_.state.validation_pending = false;
  run_.state.pending = PendingValidation{.iteration = iteration, .training = training_values()};
  replica_->take();
  overlapped_->start(*replica_, iteration);
}

void Validations::resume() {
  auto& pending = run_.state.pending;
  if (!pending || pending->scalars) return;
  const std::uint64_t iteration = pending->iteration;
  SnapshotBranch* branch = run_.snapshots.branch;
  if (overlapped_ && branch && branch->load(*replica_, iteration, rules_.averages))
    return overlapped_->start(*replica_, iteration);
  warn_once(run_.group, concat("the validation of iteration ", iteration, ", which was interrupted, is left out: ",
                               overlapped_ ? "its snapshot is gone" : "validation is no longer overlapped"));
  pending.reset();
}

void Validations::collect_if_over() {
  if (overlapped_ && overlapped_->is_over()) collect();
}

void Validations::collect_if_under_way() {
  if (overlapped_ && overlapped_->under_way()) collect();
}

void Validations::collect() {
  auto& pending = run_.state.pending;
  auto found = overlapped_->finish();
  if (found.error) on_error(pending->iteration, found.error);
  if (is_left_out(found)) pending.reset();
  if (!found.scalars) return;
  pending->scalars = found.scalars;
  const auto links = record(pending->iteration, found, pending->training).links;
  SnapshotBranch* branch = run_.snapshots.branch;
  if (!links.empty() && branch) branch->link(pending->iteration, run_.state, links);
}

void Validations::give_up() {
  if (!overlapped_ || !overlapped_->under_way()) return;
  overlapped_->give_up(run_.flags.end.signal.value());
  collect();
}

bool Validations::take_in() {
  collect_if_under_way();
  auto& pending = run_.state.pending;
  if (!pending) return true;
  if (!pending->scalars) {
    // The flags of a step may bring the signal only after the next iteration, whose validation would be lost.
    auto& end = run_.flags.end;
    if (!end && overlapped_) end.signal = overlapped_->signal();
    return false;
  }
  const PendingValidation found = *std::exchange(pending, std::nullopt);
  decide(*found.scalars, found.training);
  return true;
}

// What follows from a validation for the training to come.
void Validations::decide(const Scalars& scalars, const Scalars& training) {
  run_.hooks(HookEvent::validation_end, scalars);
  run_.flags.look_at_hooks();  // whose reason to stop comes before the rule's
  const Scalars ruling = both(scalars, training);
  rules_.early_stop.record(run_.state.early_stop, ruling);
  run_.flags.stop(rules_.early_stop.reason(run_.state.early_stop));
  run_.hyper.record(ruling);
}

// Whether an error keeps it from being made for good; one that ends the run leaves it to the resumed one.
bool Validations::is_left_out(const Validated& found) const {
  return found.error && rules_.errors.action == ErrorPolicy::Action::skip;
}

void Validations::on_error(std::uint64_t iteration, const std::exception_ptr& error) {
  if (rules_.errors.action != ErrorPolicy::Action::skip) return run_.flags.stop_with_error(error);
  warn_once(run_.group, concat("no validation at iteration ", iteration, ": ", summary_of(error)));
  count();
}

// The next one begins after it.
void Validations::count() {
  for (auto& set : sets_) {
    auto& state = run_.state.validation[set.name];
    state.batches += set.batches;
    state.bad_samples = set.bad_samples.ids();
  }
}

// Means over the epoch so far, as rules name them: "train.loss".
Scalars Validations::training_values() const {
  Scalars values = epoch_means(run_.state);
  for (auto& [name, value] : values) name.insert(0, of_training);
  return values;
}

// Which values a net's training step reports is known only after a step.
void Validations::warn_of_unknown(const Scalars& training) {
  if (training.empty() || std::exchange(compared_training_, true)) return;
  std::set<std::string> names{rules_.early_stop.improvement.of.name};
  for (auto& rule : rules_.best) names.insert(rule.of.name);
  for (auto& name : names)
    if (name.starts_with(of_training) && !finite_value(training, name))
      warn_once(run_.group, concat("no rule can compare '", name, "': training reports ",
                                   join(training, ", ", [](auto& scalar) { return scalar.first; })));
}

// Into the run's state, and shown.
Validations::Ranks Validations::record(std::uint64_t iteration, Validated& found, const Scalars& training) {
  count();
  warn_of_unknown(training);
  Ranks ranks;
  const Scalars ruling = both(*found.scalars, training);
  for (auto& rule : rules_.best) {
    const auto rank = rule.record(run_.state.best, iteration, ruling);
    ranks.keeps |= rank.has_value();
    if (rank == std::size_t{0}) ranks.links.push_back(rule.link);
  }
  const bool improved = !ranks.links.empty() && ranks.links.front() == rules_.best.front().link;
  ValidationEvent event{iteration, *found.scalars, improved, found.confusion, found.replaced};
  if (!found.samples.empty()) {
    event.samples = std::make_shared<const std::vector<ShownSamples>>(std::move(found.samples));
    event.best = kept_by(rules_.best, run_.state.best);
  }
  run_.loggers.validation(event);
  return ranks;
}

}  // namespace flowtrain
