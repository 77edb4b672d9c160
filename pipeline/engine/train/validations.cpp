#include "pipeline/engine/train/validations.h"

#include <memory>
#include <set>
#include <utility>

#include "sampling/core/text.h"

namespace flowtrain {
namespace {

Scalars both(Scalars scalars, const Scalars& more) {
  scalars.insert(scalars.end(), more.begin(), more.end());
  return scalars;
}

}  // namespace

Validations::Validations(ValidationParts parts, const ValidationContext& context, ValidationsState& state)
    : sets_(std::move(parts.sets)),
      rules_(std::move(parts.rules)),
      async_(parts.async.to),
      replica_(parts.replica),
      run_(context),
      state_(state) {
  for (auto& set : sets_) set.bad_samples.restore(state_.sets[set.name].bad_samples);
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

// The metrics of the validation before take effect first.
void Validations::run(std::uint64_t iteration, bool last) {
  if (!apply_pending()) return;
  if (!run_.flags.end().stopped.empty()) return;
  if (async_ && !last)
    launch(iteration);
  else
    run_inline(iteration);
}

// If a signal or an error ends the run within a validation, the resumed run repeats the validation from its start.
void Validations::run_inline(std::uint64_t iteration) {
  run_.hooks(HookEvent::validation_begin);
  const auto goes_on = [this] { return run_.flags.validation_goes_on(); };
  auto found = validate_sets(sets_, run_.learner, iteration, goes_on, run_.group, rules_.errors.action);
  if (found.error) on_error(iteration, found.error);
  state_.due = !found.scalars && !is_left_out(found);
  if (!found.scalars) return;
  const Scalars training = training_values();
  apply(*found.scalars, training);
  const auto [links, keeps] = record(iteration, found, training);
  if (!keeps) return;
  run_.nonfinite.add_rollback_target(iteration);
  run_.snapshots.save(SnapshotReason::best, links);
}

// The snapshot may turn out to be the best. If a signal ends the validation, it has the weights, and a run that resumes
// from it begins with this validation.
void Validations::launch(std::uint64_t iteration) {
  run_.nonfinite.add_rollback_target(iteration);
  if (!run_.snapshots.has_newest()) run_.snapshots.save(SnapshotReason::best);
  run_.hooks(HookEvent::validation_begin);
  state_.due = false;
  state_.pending = PendingValidation{.iteration = iteration, .training = training_values()};
  replica_->take();
  async_->start(*replica_, iteration);
}

void Validations::resume() {
  auto& pending = state_.pending;
  if (!pending || pending->scalars) return;
  const std::uint64_t iteration = pending->iteration;
  if (async_ && run_.snapshots.load(*replica_, iteration, rules_.averages)) return async_->start(*replica_, iteration);
  warn_once(run_.group, concat("the validation of iteration ", iteration, ", which was interrupted, is left out: ",
                               async_ ? "its snapshot is missing" : "val.mode is no longer \"async\""));
  pending.reset();
}

void Validations::collect_if_over() {
  if (async_ && async_->is_over()) collect();
}

void Validations::collect_if_under_way() {
  if (async_ && async_->under_way()) collect();
}

void Validations::collect() {
  auto& pending = state_.pending;
  auto found = async_->finish();
  if (found.error) on_error(pending->iteration, found.error);
  if (is_left_out(found)) pending.reset();
  if (!found.scalars) return;
  pending->scalars = found.scalars;
  run_.snapshots.link(pending->iteration, record(pending->iteration, found, pending->training).links);
}

void Validations::give_up() {
  if (!async_ || !async_->under_way()) return;
  async_->give_up(run_.flags.end().signal.value());
  collect();
}

bool Validations::apply_pending() {
  collect_if_under_way();
  auto& pending = state_.pending;
  if (!pending) return true;
  if (!pending->scalars) {
    // The flags of a step may bring the signal only after the next iteration, whose validation would be lost.
    if (!run_.flags.end() && async_) run_.flags.interrupt_by(async_->signal());
    return false;
  }
  const PendingValidation found = *std::exchange(pending, std::nullopt);
  apply(*found.scalars, found.training);
  return true;
}

// Applies the effects of a validation on the training to come.
void Validations::apply(const Scalars& scalars, const Scalars& training) {
  run_.hooks(HookEvent::validation_end, scalars);
  run_.flags.look_at_hooks();  // A hook's reason to stop comes before the rule's.
  const Scalars ruling = both(scalars, training);
  rules_.early_stop.record(state_.early_stop, ruling);
  run_.flags.stop(early_stop_reason());
  run_.hyper.record(ruling);
}

// Returns whether an error has kept the validation from being made and training goes on.
bool Validations::is_left_out(const Validated& found) const {
  return found.error && rules_.errors.action == ErrorPolicy::Action::skip;
}

void Validations::on_error(std::uint64_t iteration, const std::exception_ptr& error) {
  if (rules_.errors.action != ErrorPolicy::Action::skip) return run_.flags.stop_with_error(error);
  warn_once(run_.group, concat("no validation at iteration ", iteration, ": ", summary_of(error)));
  count();
}

// Saves the positions in the sets, so that the next validation begins after this one.
void Validations::count() {
  for (auto& set : sets_) {
    auto& state = state_.sets[set.name];
    state.batches += set.batches;
    state.bad_samples = set.bad_samples.ids();
  }
}

// Returns the means over the epoch so far, as rules name them: "train.loss".
Scalars Validations::training_values() const {
  Scalars values = run_.reports.epoch_means();
  for (auto& [name, value] : values) name.insert(0, of_training);
  return values;
}

// The values that a net's training step reports are known only after a step.
void Validations::warn_of_unknown(const Scalars& training) {
  if (training.empty() || std::exchange(compared_training_, true)) return;
  std::set<std::string> names{rules_.early_stop.improvement.of.name};
  for (auto& rule : rules_.best) names.insert(rule.of.name);
  for (auto& name : names)
    if (name.starts_with(of_training) && !finite_value(training, name))
      warn_once(run_.group, concat("no rule can compare '", name, "': training reports ",
                                   join(training, ", ", [](auto& scalar) { return scalar.first; })));
}

// Ranks the validation and gives it to the loggers.
Validations::Ranks Validations::record(std::uint64_t iteration, Validated& found, const Scalars& training) {
  count();
  warn_of_unknown(training);
  Ranks ranks;
  const Scalars ruling = both(*found.scalars, training);
  for (auto& rule : rules_.best) {
    const auto rank = rule.record(state_.best, iteration, ruling);
    ranks.keeps |= rank.has_value();
    if (rank == std::size_t{0}) ranks.links.push_back(rule.link);
  }
  const bool improved = !ranks.links.empty() && ranks.links.front() == rules_.best.front().link;
  ValidationEvent event{iteration, *found.scalars, improved, found.confusion, found.replaced};
  if (!found.samples.empty()) {
    event.samples = std::make_shared<const std::vector<ShownSamples>>(std::move(found.samples));
    event.best = kept_by(rules_.best, state_.best);
  }
  event.texts = std::move(found.texts);
  run_.loggers.validation(event);
  return ranks;
}

}  // namespace flowtrain
