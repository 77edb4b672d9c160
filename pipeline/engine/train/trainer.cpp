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
      hooks_(parts_.hooks, state_, state_.hooks, *parts_.group, parts_.run_plan.last, parts_.epoch),
      flags_(*parts_.group, parts_.interrupt, parts_.snapshots.to, parts_.validation.rules.early_stop, hooks_, state_),
      samples_(parts_.loader, *parts_.group, *parts_.bad_samples, state_.samples),
      reports_({.last = parts_.run_plan.last, .every = parts_.reports.every, .epoch = parts_.epoch},
               parts_.reports.loggers, hooks_, *parts_.group, meter_, state_.reports,
               {parts_.reports.profile, parts_.reports.machine, parts_.reports.peak_flops}),
      hyper_(labels_of(parts_.run_plan), parts_.rules.schedules, hooks_, state_, state_.hyper),
      errors_(
          parts_.rules.errors, *parts_.learner, flags_, *parts_.group, [this] { return own_flags(); },
          state_.skipped_in_a_row),
      nonfinite_(parts_.rules.nonfinite,
                 {.learner = *parts_.learner,
                  .snapshots = parts_.snapshots.to,
                  .hyper = hyper_,
                  .samples = samples_,
                  .group = *parts_.group},
                 state_.nonfinite),
      snapshots_({.branch = parts_.snapshots.to,
                  .learner = *parts_.learner,
                  .hooks = hooks_,
                  .loggers = parts_.reports.loggers,
                  .meter = meter_,
                  .profile = parts_.reports.profile,
                  .journal = parts_.reports.journal,
                  .interrupt = parts_.interrupt,
                  .every_s = parts_.snapshot_every_s},
                 state_),
      tuning_(parts_.tuner, parts_.loader, *parts_.learner),
      validations_(parts_.validation,
                   {.learner = *parts_.learner,
                    .group = *parts_.group,
                    .hooks = hooks_,
                    .flags = flags_,
                    .hyper = hyper_,
                    .nonfinite = nonfinite_,
                    .snapshots = snapshots_,
                    .reports = reports_,
                    .loggers = parts_.reports.loggers},
                   state_.validations) {}

TrainerResult Trainer::run() {
  meter_.start(state_.elapsed_s);
  parts_.loader.start();
  reports_.measure_load(parts_.loader);
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
  flags_.look_at_time();
  flags_.stop(validations_.early_stop_reason());
  if (state_.iteration > 0) hooks_(HookEvent::resume);
  hooks_(HookEvent::run_begin);
  validations_.resume();
  if (parts_.run_plan.validate_first && flags_.goes_on()) validate(parts_.run_plan.plan(state_.iteration));
  while (flags_.goes_on() && state_.iteration < parts_.run_plan.last && iterate()) validations_.collect_if_over();
}

// Trains one step, and does what its plan asks for after it. Returns false if the run ends before the step is done.
bool Trainer::iterate() {
  Learner& learner = *parts_.learner;
  const std::uint64_t iteration = state_.iteration + 1;
  const bool hashed = parts_.run_plan.hashes(iteration);
  StepEvent event{.iteration = iteration};
  flags_.want_snapshot(parts_.group->leads() && snapshots_.wanted());
  if (reports_.due(iteration)) snapshots_.look_at_folder();
  Plan plan;
  for (std::uint32_t micro = 0; micro < parts_.run_plan.accum; ++micro) {
    const auto ticket = next_batch(micro);
    if (!ticket) return discard_iteration(micro);
    Slab& batch = parts_.loader.slab(*ticket);
    if (micro == 0) {
      plan = batch.plan();
      if (hyper_.begin_iteration(iteration, plan.hyper)) learner.set_hyper(hyper_.used());
    }
    event.epoch = batch.epoch();
    meter_.count_samples(samples_.add(batch), batch.rows().size());
    const bool last = micro + 1 == parts_.run_plan.accum;
    const ThroughputMeter::Computing computing(meter_);
    const auto compute = [&] { learner.forward_backward(batch, last ? own_flags() : StepFlags()); };
    if (!errors_.attempt(batch, last, compute)) return false;
    if (hashed) parts_.reports.journal->add(batch, parts_.loader.row_hashes(*ticket));
    parts_.loader.release(*ticket);
  }

  std::optional<StepStats> stats;
  StepFlags flags;
  {
    const ThroughputMeter::Computing computing(meter_);
    learner.finish_gradients();  // unscale, hooks, clip
    show_histograms(iteration);
    if (wants_stats(plan)) stats = learner.stats();
    flags = flags_.of_all(own_flags(), stats);
    if (stats) nonfinite_.read_deferred(iteration, stats->deferred);
    samples_.account(iteration, flags);
    event.decision = flags[Flag::step_failed] > 0 ? Decision::leave_out : nonfinite_.decide(iteration, stats);
    if (event.decision == Decision::update || event.decision == Decision::scale_down)
      learner.update();
    else if (event.decision == Decision::roll_back)
      nonfinite_.roll_back(iteration, stats.value());
    else
      learner.discard();
    errors_.end_iteration(iteration, event.decision == Decision::leave_out);
  }

  // ---- The step is done. The rest reports it, and does what the plan asks for after it. ----
  state_.iteration = iteration;
  validations_.expect(plan.validates);
  if (plan.saves_by_period) nonfinite_.add_rollback_target(iteration);
  report(event, hashed, std::move(stats));
  flags_.apply(flags);
  const auto time = meter_.take_iteration();
  if (!flags_.end()) tuning_.after_iteration(time, meter_.consumer());
  if (plan.validates && flags_.goes_on()) validate(plan);
  if ((plan.saves || SnapshotFlags(flags).wanted) && flags_.goes_on())
    snapshot(plan.last ? SnapshotReason::end : plan.saves ? SnapshotReason::period : SnapshotReason::request);
  return true;
}

// Returns nothing if the run is to end now. After a signal only the rest of an iteration is used, and only if its rows
// are complete: reads are cancelled then.
std::optional<Ticket> Trainer::next_batch(std::uint32_t micro) {
  Ticket ticket;
  {
    const Profile::At at(parts_.reports.profile, Phase::data);
    const auto begin = Clock::now();
    if (!parts_.loader.next(ticket)) throw InternalError("the loader ended before the run");
    meter_.waited(Clock::now() - begin);
  }
  flags_.look_for_signal();
  const Slab& batch = parts_.loader.slab(ticket);
  const bool bad = ticket.kind == TicketKind::bad;
  if (flags_.end().signal && (micro == 0 || bad || !batch.bad().empty())) return std::nullopt;
  if (bad) std::rethrow_exception(batch.error());
  parts_.group->at_iteration(ticket.iteration);
  flight_iteration(ticket.iteration);
  if (parts_.reports.profile) {
    parts_.reports.profile->begin_batch(parts_.loader.place(ticket));
    if (micro == 0) parts_.reports.profile->begin_iteration(ticket.iteration);
  }
  return ticket;
}

// The other micro-batches of the iteration do not come, and a snapshot holds whole iterations only.
bool Trainer::discard_iteration(std::uint32_t micro) {
  if (micro > 0) parts_.learner->discard();
  samples_.discard();
  return false;
}

StepFlags Trainer::own_flags() const { return flags_.own(samples_.bad(), errors_.failed()); }

// Values are read before they go to the disk, or decide which weights are best.
bool Trainer::wants_stats(const Plan& plan) const {
  if (flags_.travel()) return true;
  if (errors_.failed()) return false;
  return plan.validates || plan.saves || flags_.wants_snapshot() || reports_.due(plan.iteration) ||
         parts_.run_plan.hashes(plan.iteration) || nonfinite_.reads_all() || parts_.learner->stats_are_free();
}

// An iteration without gradients has no histograms.
void Trainer::show_histograms(std::uint64_t iteration) {
  if (!parts_.reports.histograms_every.ends(iteration) || errors_.failed()) return;
  try {
    parts_.reports.loggers.histograms(iteration, parts_.learner->histograms());
  } catch (const std::exception& error) {  // The step itself had enough memory.
    if (!ran_out_of_memory(error)) throw;
    log_warn(concat("no histograms of iteration ", iteration, " (display.histograms): ", first_line(error.what()),
                    "; training goes on"));
  }
}

void Trainer::report(StepEvent event, bool hashed, std::optional<StepStats> stats) {
  if (event.decision == Decision::leave_out) stats.reset();
  Scalars scalars;
  if (stats) {
    event.loss = stats->loss;
    event.grad_norm = stats->grad_norm;
    scalars = stats->parts;
    hyper_.append_hyper(scalars);
    reports_.add(*stats, event.decision == Decision::update);
  }
  event.lr = hyper_.lr();
  event.samples = samples_.count();
  if (event.iteration == 1 || reports_.due(event.iteration))
    event.machine.flops = parts_.learner->step_flops() * parts_.group->size();
  reports_.put(event, scalars);
  state_.elapsed_s = meter_.elapsed_s();
  if (hashed) parts_.reports.journal->put(event.iteration, stats, *parts_.learner);
}

void Trainer::validate(const Plan& plan) {
  const auto begin = Clock::now();
  const Profile::At at(parts_.reports.profile, Phase::validation);
  validations_.run(state_.iteration, plan.last);
  meter_.paused(Clock::now() - begin);
  state_.elapsed_s = meter_.elapsed_s();
}

// A snapshot with the metrics of an async validation replaces the one that was taken when the validation began.
void Trainer::snapshot(SnapshotReason reason) {
  snapshots_.save(reason, {}, [this] { validations_.collect_if_under_way(); });
}

TrainerResult Trainer::conclude() {
  if (parts_.reports.profile) parts_.reports.profile->finish();
  const double wall_s = meter_.run_s();
  const PipelineLoad load = reports_.load();
  const RunEnd& end = flags_.end();
  if (end.signal) {
    validations_.give_up();
    if (!snapshots_.has_newest() || validations_.due()) snapshot(SnapshotReason::end);
  } else if (end) {
    validations_.apply_pending();
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
