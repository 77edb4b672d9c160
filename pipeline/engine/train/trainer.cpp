#include "pipeline/engine/train/trainer.h"

#include <algorithm>
#include <chrono>
#include <stop_token>
#include <utility>

#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/train/hash_journal.h"
#include "sampling/core/error.h"
#include "sampling/core/out_of_memory.h"
#include "sampling/core/text.h"
#include "stages/flight/flight.h"
#include "stages/trace/profile.h"

namespace flowtrain {

namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::string> labels_of(const RunPlan& run_plan) {
  std::vector<std::string> labels;
  for (auto& optimizer : run_plan.optimizers) labels.push_back(optimizer.label);
  return labels;
}

}  // namespace

Trainer::Trainer(TrainerParts parts, RunState state)
    : parts_(std::move(parts)),
      state_(std::move(state)),
      hooks_(parts_.hooks, state_, *parts_.group, parts_.run_plan.last, parts_.epoch),
      flags_{*parts_.group, parts_.interrupt, parts_.snapshots.to, parts_.early_stop, hooks_, state_},
      samples_(parts_.loader, *parts_.group, *parts_.bad_samples, state_),
      reports_{{parts_.run_plan.first, parts_.run_plan.last, parts_.display_every, parts_.epoch},
               parts_.loggers,
               hooks_,
               *parts_.group,
               state_,
               {parts_.profile, parts_.machine, parts_.peak_flops}},
      hyper_(*parts_.learner, labels_of(parts_.run_plan), parts_.schedules, hooks_, state_),
      errors_{parts_.train_errors, *parts_.learner, flags_, *parts_.group, state_},
      judge_{parts_.nonfinite, *parts_.learner, parts_.snapshots.to, hyper_, samples_, *parts_.group, state_},
      snapshots_{
          parts_.snapshots.to, *parts_.learner,  hooks_,         parts_.loggers,   parts_.profile,         state_,
          reports_.pace,       state_.iteration, parts_.journal, parts_.interrupt, parts_.snapshot_every_s},
      tuning_{parts_.tuner, parts_.loader, *parts_.learner},
      validations_(
          parts_.validation, {parts_.best, parts_.early_stop, parts_.val_errors, parts_.averages}, parts_.beside.to,
          parts_.validation_replica,
          {*parts_.learner, *parts_.group, hooks_, flags_, hyper_, judge_, snapshots_, parts_.loggers, state_}) {}

TrainerResult Trainer::run() {
  reports_.pace.start(state_.elapsed_s);
  parts_.loader.start();
  reports_.load.emplace(parts_.loader, reports_.pace.consumer());
  validations_.start_loaders();
  const std::stop_callback wake(flags_.cancels_reads(), [this] {
    parts_.loader.cancel_reads();
    validations_.cancel_reads();
  });
  try {
    loop();
    return conclude();
  } catch (const std::exception& error) {
    hooks_.on_exception(error);
    throw;
  }
}

void Trainer::loop() {
  if (parts_.early_stop.out_of_time(state_.elapsed_s)) flags_.stop(parts_.early_stop.out_of_time_text());
  flags_.stop(parts_.early_stop.reason(state_.early_stop));
  if (state_.iteration > 0) hooks_(HookEvent::resume);
  hooks_(HookEvent::run_begin);
  validations_.resume();
  if (parts_.run_plan.validate_first && goes_on()) validate(parts_.run_plan.plan(state_.iteration));
  while (goes_on() && state_.iteration < parts_.run_plan.last && iterate()) validations_.collect_if_over();
}

// One step, and what its plan asks for after it. False: the run ends before the step is done.
bool Trainer::iterate() {
  Learner& learner = *parts_.learner;
  const std::uint64_t iteration = state_.iteration + 1;
  const bool hashed = parts_.run_plan.hashes(iteration);
  StepEvent event{.iteration = iteration};
  flags_.wants_snapshot = parts_.group->leads() && snapshots_.wanted();
  if (parts_.snapshots.to && reports_.due(iteration)) parts_.snapshots.to->look_at_folder();
  Plan plan;
  for (std::uint32_t micro = 0; micro < parts_.run_plan.accum; ++micro) {
    const auto ticket = next_batch(micro);
    if (!ticket) return discard_iteration(micro);
    Slab& batch = parts_.loader.slab(*ticket);
    if (micro == 0) {
      plan = batch.plan();
      hyper_.begin_iteration(iteration, plan.hyper);
    }
    event.epoch = batch.epoch();
    reports_.pace.count_samples(samples_.add(batch), batch.rows().size());
    const bool last = micro + 1 == parts_.run_plan.accum;
    const Pace::Computing computing(reports_.pace);
    if (!errors_.forward_backward(batch, last, [this] { return own_flags(); })) return false;
    if (hashed) parts_.journal->add(batch, parts_.loader.row_hashes(*ticket));
    parts_.loader.release(*ticket);
  }

  std::optional<StepStats> stats;
  StepFlags flags;
  {
    const Pace::Computing computing(reports_.pace);
    learner.finish_gradients();  // unscale, hooks, clip
    show_histograms(iteration);
    if (wants_stats(plan)) stats = learner.stats();
    flags = flags_.of_all(own_flags(), stats);
    if (stats) judge_.read_deferred(iteration, stats->deferred);
    samples_.settle(iteration, flags);
    event.left_out = flags[Flag::step_failed] > 0;
    if (event.left_out)
      errors_.skip_update(iteration);
    else
      event.recovery = judge_.carry_out(judge_.decide(iteration, stats), iteration, stats);  // update, as a rule
  }

  state_.iteration = iteration;
  state_.validation_pending = plan.validates && validations_.any();
  if (plan.saves_by_period) judge_.add_rollback_target(iteration);
  report(event, stats);
  if (hashed) parts_.journal->put(iteration, event.left_out ? std::nullopt : stats, learner);
  flags_.apply(flags);
  const auto time = reports_.pace.take_iteration();
  if (!flags_.end) tuning_.after_iteration(time, reports_.pace.consumer());
  if (plan.validates && goes_on()) validate(plan);
  if ((plan.saves || SnapshotWords(flags).wanted) && goes_on())
    snapshot(plan.last ? SnapshotReason::end : plan.saves ? SnapshotReason::period : SnapshotReason::request);
  return true;
}

// Nothing: the run is to end now. After a signal only the rest of an iteration is used, and only where nothing is
// missing because nobody waited for it.
std::optional<Ticket> Trainer::next_batch(std::uint32_t micro) {
  Ticket ticket;
  {
    const Profile::At at(parts_.profile, Phase::data);
    const auto begin = Clock::now();
    if (!parts_.loader.next(ticket)) throw InternalError("the loader ended before the run");
    reports_.pace.waited(Clock::now() - begin);
  }
  flags_.look_for_signal();
  const Slab& batch = parts_.loader.slab(ticket);
  const bool bad = ticket.kind == TicketKind::bad;
  if (flags_.end.signal && (micro == 0 || bad || !batch.bad().empty())) return std::nullopt;
  if (bad) std::rethrow_exception(batch.error());
  parts_.group->at_iteration(ticket.iteration);
  flight_iteration(ticket.iteration);
  if (parts_.profile) {
    parts_.profile->begin_batch(parts_.loader.place(ticket));
    if (micro == 0) parts_.profile->begin_iteration(ticket.iteration);
  }
  return ticket;
}

// The rest of its micro-batches will not come: a snapshot holds whole iterations.
bool Trainer::discard_iteration(std::uint32_t micro) {
  if (micro > 0) parts_.learner->discard();
  samples_.discard();
  return false;
}

StepFlags Trainer::own_flags() const { return flags_.own(samples_.bad(), errors_.failed()); }

// What goes to the disk or decides which weights are best must be sound.
bool Trainer::wants_stats(const Plan& plan) const {
  if (flags_.travel()) return true;
  if (errors_.failed()) return false;
  return plan.validates || plan.saves || flags_.wants_snapshot || reports_.due(plan.iteration) ||
         parts_.run_plan.hashes(plan.iteration) || judge_.reads_all() || parts_.learner->stats_are_free();
}

// An iteration without gradients has nothing to show.
void Trainer::show_histograms(std::uint64_t iteration) {
  if (!parts_.histograms_every.ends(iteration) || errors_.failed()) return;
  try {
    parts_.loggers.histograms(iteration, parts_.learner->histograms());
  } catch (const std::exception& error) {  // the step itself had enough memory
    if (!ran_out_of_memory(error)) throw;
    log_warn(concat("no histograms of iteration ", iteration, " (display.histograms): ", first_line(error.what()),
                    "; training goes on"));
  }
}

void Trainer::report(StepEvent event, const std::optional<StepStats>& stats) {
  Scalars scalars;
  if (stats && !event.left_out) {
    event.loss = stats->loss;
    event.grad_norm = stats->grad_norm;
    scalars = stats->parts;
    hyper_.append_hyper(scalars);
    reports_.pace.exchanged(*stats);
    state_.line.clipped += stats->clipped;
  }
  event.lr = hyper_.lr();
  if (event.iteration == 1 || reports_.due(event.iteration))
    event.flops = parts_.learner->step_flops() * parts_.group->size();
  reports_.put(event, scalars);
  state_.elapsed_s = reports_.pace.elapsed_s();
}

void Trainer::validate(const Plan& plan) {
  const auto begin = Clock::now();
  const Profile::At at(parts_.profile, Phase::validation);
  validations_.run(state_.iteration, plan.last);
  reports_.pace.paused(Clock::now() - begin);
  state_.elapsed_s = reports_.pace.elapsed_s();
}

// An overlapped validation that has shown its metrics can do without the earlier snapshot.
void Trainer::snapshot(SnapshotReason reason) {
  snapshots_.save(reason, {}, [this] { validations_.collect_if_under_way(); });
}

bool Trainer::goes_on() {
  flags_.look_again();
  return !flags_.end;
}

TrainerResult Trainer::conclude() {
  if (parts_.profile) parts_.profile->finish();
  const double wall_s = reports_.pace.run_s();
  const PipelineLoad load = reports_.load->load(reports_.pace.consumer());
  const RunEnd& end = flags_.end;
  if (end.signal) {
    validations_.give_up();
    if (!snapshots_.has_newest() || state_.validation_pending) snapshot(SnapshotReason::end);
  } else if (end) {
    validations_.take_in();
    if (parts_.run_plan.final_snapshot || end.error) snapshot(SnapshotReason::end);
  } else {
    parts_.loader.check_finished();
  }
  hooks_(HookEvent::run_end);
  parts_.loader.stop();
  validations_.stop_loaders();
  return {end, state_.iteration, wall_s, load};
}

std::string params_xxh64(Learner& learner) {
  LearnerState state;
  learner.copy_state(state);
  state.settle();
  std::erase_if(state.model, [](auto& tensor) { return !tensor.parameter; });
  std::sort(state.model.begin(), state.model.end(), [](auto& a, auto& b) { return a.name < b.name; });
  Xxh64 hash;
  for (auto& tensor : state.model) hash.update(tensor.bytes);
  return hash.hex();
}

}  // namespace flowtrain
