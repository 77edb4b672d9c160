#include "pipeline/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "pipeline/telemetry/interrupt.h"
#include "pipeline/telemetry/log.h"
#include "sampling/core/error.h"
#include "stages/profile.h"

namespace flowtrain {

namespace {

constexpr std::size_t loss_window = 20;

double seconds(std::chrono::steady_clock::duration span) { return std::chrono::duration<double>(span).count(); }

}  // namespace

Trainer::Trainer(TrainerParts parts, RunState state) : parts_(std::move(parts)), state_(std::move(state)) {
  parts_.bad_samples->restore(state_.bad_samples);
  for (auto& set : parts_.validation) set.bad_samples.restore(state_.validation[set.name].bad_samples);
  result_.iteration = state_.iteration;
  snapshot_taken_ = state_.iteration;
  state_.plateaus.resize(parts_.plateaus.size());
  if (!parts_.hooks) parts_.hooks = &no_hooks_;
  Moment& moment = parts_.hooks->moment();
  moment.last_iteration = parts_.schedule.last;
  moment.rank = parts_.group->rank();
  moment.world = parts_.group->size();
  moment.logged = state_.line.logged;
  parts_.hooks->restore(state_.hooks);
  if (parts_.net_copy) overlapped_.emplace(parts_.validation, parts_.interrupt, parts_.val_errors.action);
}

TrainerResult Trainer::run() {
  elapsed_before_s_ = state_.elapsed_s;
  start_ = since_ = epoch_since_ = Clock::now();
  parts_.line.start();
  for (auto& set : parts_.validation) set.line.start();
  const std::stop_callback wake(wakes(), [this] {
    parts_.line.abandon();
    for (auto& set : parts_.validation) set.line.abandon();
  });
  try {
    loop();
    conclude();
  } catch (const std::exception& error) {
    hear(error);
    throw;
  }
  return result_;
}

void Trainer::loop() {
  result_.stopped = parts_.early_stop.reason(state_.early_stop);
  if (parts_.early_stop.out_of_time(elapsed_before_s_)) result_.stopped = parts_.early_stop.out_of_time_text();
  if (state_.iteration > 0) call(Point::resume);
  call(Point::run_begin);
  resume_validation();
  bool more = true;
  while (more && result_.stopped.empty() && !interrupted()) {
    const Ticket ticket = await();
    if (in_haste(ticket)) break;
    const auto begin = Clock::now();
    more = step(ticket);
    const auto end = Clock::now();
    if (parts_.tuner && ticket.kind == TicketKind::batch) tune(seconds(end - begin));
    state_.elapsed_s = elapsed_before_s_ + seconds(end - start_);
  }
}

void Trainer::conclude() {
  if (parts_.profile) parts_.profile->finish();
  result_.wall_s = seconds(Clock::now() - start_);
  if (result_.signal) {
    if (mid_iteration_) forget_iteration();
    give_up_validation();
    if (state_.iteration > snapshot_taken_ || state_.validation_pending) snapshot(SnapshotReason::end);
  } else if (!result_.stopped.empty()) {
    take_in_validation();
    if (parts_.schedule.final_snapshot || result_.error) snapshot(SnapshotReason::end);
  } else {
    parts_.line.check_finished();
  }
  call(Point::run_end);
  parts_.line.stop();
  for (auto& set : parts_.validation) set.line.stop();
}

// Between iterations a hook may ask for the end. Alone a process heeds it at once; several agree first, see heed().
void Trainer::call(Point point, const Figures& figures) {
  Moment& moment = parts_.hooks->moment();
  const bool begins = point == Point::iteration_begin || point == Point::epoch_begin;
  moment.iteration = state_.iteration + begins;
  moment.epoch = parts_.iterations_per_epoch > 0
                     ? (std::max<std::uint64_t>(moment.iteration, 1) - 1) / parts_.iterations_per_epoch
                     : 0;
  moment.figures = &figures;
  parts_.hooks->call(point);
  moment.figures = nullptr;
  if (!begins && !grouped() && !moment.stopped.empty()) result_.stopped = moment.stopped;
}

// What all processes know is told once.
void Trainer::warn(const std::string& text) const {
  if (parts_.group->leads()) log_warn(text);
}

// One step of the run, whatever kind it is. False at the end.
bool Trainer::step(const Ticket& ticket) {
  // Between iterations: an error of it may end the run, whose state must be that of a whole one.
  if (overlapped_ && overlapped_->is_over() && !mid_iteration_) collect_validation();
  if (result_.error) return false;
  switch (ticket.kind) {
    case TicketKind::rates: set_rates(ticket.iteration); return true;
    case TicketKind::batch: train(ticket); return true;
    case TicketKind::validate: validate(ticket.iteration); return true;
    case TicketKind::snapshot:
      snapshot(ticket.iteration == parts_.schedule.last ? SnapshotReason::end : SnapshotReason::period);
      return true;
    case TicketKind::bad: std::rethrow_exception(parts_.line.slab(ticket).error());
    case TicketKind::end: return false;
    case TicketKind::drained: break;
  }
  throw InternalError("a ticket of an unknown kind");
}

void Trainer::set_rates(std::uint64_t iteration) {
  rates_ = parts_.schedule.rates(iteration);
  for (std::size_t i = 0; i < rates_.size(); ++i) {
    rates_[i].lr *= state_.lr_scale;
    for (std::size_t j = 0; j < parts_.plateaus.size(); ++j)
      parts_.plateaus[j].apply(state_.plateaus[j], parts_.schedule.optimizers[i].label, rates_[i]);
  }
  use(rates_);
}

void Trainer::use(std::vector<Rates> rates) {
  used_ = std::move(rates);
  parts_.learner->set_rates(used_);
}

void Trainer::begin_iteration(std::uint64_t iteration) {
  if (parts_.iterations_per_epoch > 0 && (iteration - 1) % parts_.iterations_per_epoch == 0) call(Point::epoch_begin);
  if (parts_.hooks->wants(Point::iteration_begin)) {
    auto rates = rates_;
    parts_.hooks->moment().rates = rates;
    call(Point::iteration_begin);
    parts_.hooks->moment().rates = {};
    if (rates != used_) use(std::move(rates));
  }
  parts_.hooks->moment().iteration = iteration;  // for the points that the learner comes by
}

void Trainer::end_iteration() {
  Figures figures;
  if (std::isfinite(event_.loss)) {
    figures.emplace_back("loss", event_.loss);
    figures.insert(figures.end(), figures_.begin(), figures_.end());
  }
  call(Point::iteration_end, figures);
  if (parts_.iterations_per_epoch == 0) return;
  tally();
  if (ends_epoch()) call(Point::epoch_end);
}

// What was not looked at is not waited for.
void Trainer::tally() {
  const auto add = [this](const std::string& name, double value) {
    if (!std::isfinite(value)) return;
    auto& [sum, count] = state_.epoch_sums[name];
    sum += value;
    ++count;
  };
  add("loss", event_.loss);
  add("grad_norm", event_.grad_norm);
  if (!std::isfinite(event_.loss)) return;
  for (auto& [name, value] : figures_)
    if (!name.starts_with("lr.")) add(name, value);
}

void Trainer::report_epoch() {
  Figures means;
  for (auto& [name, figure] : state_.epoch_sums)
    means.emplace_back(name, figure.sum / static_cast<double>(figure.count));
  const double wall_s = seconds(Clock::now() - epoch_since_);
  means.emplace_back("samples_per_s", static_cast<double>(epoch_samples_) / wall_s);
  means.emplace_back("data_wait", epoch_waited_s_ / wall_s);
  parts_.display->epoch(state_.iteration, (state_.iteration - 1) / parts_.iterations_per_epoch, std::move(means));
  state_.epoch_sums.clear();
  epoch_since_ = Clock::now();
  epoch_waited_s_ = 0;
  epoch_samples_ = 0;
}

// One micro-batch: forward and backward; the last of an iteration also updates the parameters.
void Trainer::train(const Ticket& ticket) {
  Slab& slab = parts_.line.slab(ticket);
  bad_.insert(bad_.end(), slab.bad().begin(), slab.bad().end());
  const bool last = ticket.micro + 1u == parts_.schedule.accum;
  mid_iteration_ = !last;
  parts_.group->at_iteration(ticket.iteration);
  if (ticket.micro == 0 && parts_.profile) parts_.profile->begin_iteration(ticket.iteration);
  if (ticket.micro == 0) begin_iteration(ticket.iteration);

  const auto begin = Clock::now();
  if (last && grouped()) parts_.learner->vote(own_votes());
  compute(slab, last);
  compute_s_ += seconds(Clock::now() - begin);
  if (result_.error) return;

  if (grouped()) {
    // All ranks' rows, for what rank 0 alone writes: on each, the cost of a step would grow with their number.
    const auto rows = parts_.group->leads() ? parts_.line.rows(ticket) : std::vector<StreamRow>{};
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    count_samples(rows.size());
  } else {
    for (auto& row : slab.rows()) ids_.push_back(row.id);
    count_samples(slab.rows().size());
  }
  if (last) finish_iteration(ticket, slab);
  parts_.line.release(ticket);
}

// Forward and backward. An error here has touched no parameter: it can be as if there had been no iteration, or no
// update.
void Trainer::compute(Slab& slab, bool last) try {
  if (!failure_)
    parts_.learner->backward(slab);
  else if (last && grouped())
    parts_.learner->stand_by(slab);
} catch (const std::exception& error) {
  const ErrorPolicy& policy = parts_.train_errors;
  if (policy.action == ErrorPolicy::Action::stop || !is_survivable(error)) throw;
  if (policy.action == ErrorPolicy::Action::save) {
    forget_iteration();
    return end_with(std::current_exception());
  }
  if (failure_) throw;  // while it stood by
  failure_ = std::current_exception();
  std::string ids;
  for (auto& row : slab.rows()) ids += (ids.empty() ? "" : ", ") + std::to_string(row.id);
  if (!grouped()) leave_out(slab, failure_);
  log_warn(say("the update of iteration ", slab.ticket().iteration, " is left out: ", summary_of(failure_),
               "; samples of the batch: ", ids));
  if (!grouped() || !last) return;
  parts_.learner->vote(own_votes());
  if (!parts_.learner->stand_by(slab)) throw;
}

// By all processes, for `failure` in this one or an error in another.
void Trainer::leave_out(const Slab& slab, const std::exception_ptr& failure) {
  if (++state_.skipped_in_a_row > parts_.train_errors.most) {
    const auto text = say(parts_.train_errors.most, " updates in a row were left out (train.max_skipped)");
    warn(text);
    if (failure) std::rethrow_exception(failure);
    throw UserError(Exit::distributed,
                    say(text, ", at iteration ", slab.ticket().iteration, ", for errors of other processes"),
                    "logs/ in the run's folder has a file of each process");
  }
  parts_.learner->discard();
}

void Trainer::finish_iteration(const Ticket& ticket, const Slab& slab) {
  const auto begin = Clock::now();
  state_.order.update(std::as_bytes(std::span(ids_)));
  ids_.clear();
  const bool due = parts_.display_every > 0 && ticket.iteration % parts_.display_every == 0;
  // What goes to the disk or decides which weights are best must be sound.
  const bool kept =
      parts_.schedule.snapshots_after(ticket.iteration) || parts_.schedule.validates_after(ticket.iteration);
  update(slab, grouped() || due || kept || parts_.learner->result_is_cheap() ||
                   parts_.nonfinite.action != NonFinitePolicy::Action::stop);
  compute_s_ += seconds(Clock::now() - begin);
  state_.iteration = result_.iteration = ticket.iteration;
  state_.validation_pending = !parts_.validation.empty() && parts_.schedule.validates_after(ticket.iteration);
  if (parts_.schedule.snapshot_is_due(ticket.iteration)) add_rollback_target();
  ++iterations_;
  ++state_.line.iterations;
  event_.report = due;
  end_iteration();
  report(slab.epoch());
  if (ends_epoch()) report_epoch();
  if (grouped()) return;
  if (parts_.early_stop.out_of_time(state_.elapsed_s)) result_.stopped = parts_.early_stop.out_of_time_text();
  if (parts_.snapshots) parts_.snapshots->check();
}

// `looks`: the figures are worth waiting for the device.
void Trainer::update(const Slab& slab, bool looks) {
  event_.loss = event_.grad_norm = std::numeric_limits<double>::quiet_NaN();
  event_.recovery = nullptr;
  const std::uint64_t iteration = slab.ticket().iteration;
  const std::exception_ptr failure = std::exchange(failure_, nullptr);
  event_.left_out = failure && !grouped();
  if (event_.left_out) {
    figures_.clear();
    return settle_samples(iteration, own_votes());
  }
  if (!looks) {
    state_.skipped_in_a_row = 0;
    settle_samples(iteration, own_votes());
  } else {
    const StepResult done = parts_.learner->result();
    catch_up(slab, done.unread);
    settle_samples(iteration, grouped() ? done.votes : own_votes());
    if (grouped()) heed(done.votes);
    if (done.votes.left_out > 0) {
      leave_out(slab, failure);
      event_.left_out = true;
      return figures_.clear();
    }
    state_.skipped_in_a_row = 0;
    event_.loss = done.loss;
    figures_ = done.parts;
    for (std::size_t i = 0; used_.size() > 1 && i < used_.size(); ++i)
      figures_.emplace_back("lr." + parts_.schedule.optimizers[i].label, used_[i].lr);
    event_.grad_norm = done.grad_norm;
    exchange_s_ += done.exchange_s;
    exposed_s_ += done.exposed_s;
    state_.line.clipped += done.clipped;
    if (!is_finite(done)) return recover(slab, done);
    if (done.overflow) return scale_down(slab, done);
    state_.losses.push_back(done.loss);
    if (state_.losses.size() > loss_window) state_.losses.pop_front();
    state_.nonfinite_in_a_row = 0;
  }
  parts_.learner->update();
  state_.rollback_limit = RunState::no_limit;
}

void Trainer::report(std::uint64_t epoch) {
  const double wall_s = seconds(Clock::now() - since_), run_s = seconds(Clock::now() - start_);
  const auto done = static_cast<double>(state_.iteration + 1 - parts_.schedule.first);
  event_.iteration = state_.iteration;
  event_.epoch = epoch;
  event_.lr = used_.front().lr;
  event_.clipped = state_.line.clipped / static_cast<double>(state_.line.iterations);
  event_.loss_avg = 0;
  for (double loss : state_.losses) event_.loss_avg += loss / static_cast<double>(state_.losses.size());
  event_.samples_per_s = static_cast<double>(samples_) / wall_s;
  event_.data_wait = waited_s_ / wall_s;
  event_.data_time_s = waited_s_ / static_cast<double>(iterations_);
  event_.step_time_s = compute_s_ / static_cast<double>(iterations_);
  if (grouped() && event_.report) compare_ranks();
  event_.eta_s = run_s / done * static_cast<double>(parts_.schedule.last - state_.iteration);
  auto& logged = parts_.hooks->moment().logged;
  Figures shown;
  if (event_.report) {
    shown = figures_;
    shown.insert(shown.end(), logged.begin(), logged.end());
  }
  parts_.display->step(event_, shown);
  if (!event_.report) return;
  logged.clear();
  state_.line = {};
  since_ = Clock::now();
  waited_s_ = compute_s_ = exchange_s_ = exposed_s_ = 0;
  samples_ = iterations_ = 0;
}

// `links`: of the rules that this one is the best of.
void Trainer::snapshot(SnapshotReason reason, const std::vector<std::string>& links) {
  const bool is_new =
      snapshot_taken_ != state_.iteration || reason == SnapshotReason::best || state_.validation_pending;
  if (!parts_.snapshots || !is_new) return;
  if (reason == SnapshotReason::period && parts_.snapshots->leaves_out(state_.iteration)) return;
  if (overlapped_ && overlapped_->under_way()) collect_validation();  // so that it can do without the earlier one
  const Profile::At at(parts_.profile, Phase::snapshot);
  call(Point::snapshot_begin);
  state_.hooks = parts_.hooks->states();
  state_.line.logged = parts_.hooks->moment().logged;
  parts_.snapshots->take(*parts_.learner, state_, links);
  snapshot_taken_ = state_.iteration;
  call(Point::snapshot_end);
}

bool Trainer::interrupted() {
  // Only between iterations: a snapshot holds whole ones.
  if (mid_iteration_) return false;
  return signalled();
}

// By who ends this process alone; several processes agree on the iteration first, see heed().
bool Trainer::signalled() {
  if (!grouped() && parts_.interrupt) result_.signal = parts_.interrupt->requested();
  return result_.signal.has_value();
}

// From then on nobody waits for a server that is away. Processes that train together must all get to the iteration that
// they agree on.
std::stop_token Trainer::wakes() const {
  return parts_.interrupt && !grouped() ? parts_.interrupt->token() : std::stop_token();
}

// Of what comes after the signal only the rest of an iteration is used, and only where nothing is missing because
// nobody waited for it.
bool Trainer::in_haste(const Ticket& ticket) {
  if (!signalled()) return false;
  if (!mid_iteration_ || ticket.kind == TicketKind::bad) return true;
  return ticket.kind == TicketKind::batch && !parts_.line.slab(ticket).bad().empty();
}

// The rest of its micro-batches will not come: a snapshot holds whole iterations.
void Trainer::forget_iteration() {
  parts_.learner->discard();
  ids_.clear();
  mid_iteration_ = false;
}

// Hooks hear of it.
void Trainer::hear(const std::exception& error) {
  parts_.hooks->moment().error = &error;
  call(Point::exception);
  parts_.hooks->moment().error = nullptr;
}

// The run ends after the last whole iteration, in good order; whoever started it throws the error then.
void Trainer::end_with(const std::exception_ptr& error) try {
  result_.error = error;
  result_.stopped = summary_of(error);
  std::rethrow_exception(error);
} catch (const std::exception& thrown) {
  hear(thrown);
}

Ticket Trainer::await() {
  const Profile::At at(parts_.profile, Phase::data);
  const auto begin = Clock::now();
  Ticket ticket;
  if (!parts_.line.next(ticket)) throw InternalError("the line ended before its end ticket");
  const double waited = seconds(Clock::now() - begin);
  waited_s_ += waited;
  epoch_waited_s_ += waited;
  waiting_s_ += waited;
  result_.wait_s += waited;
  return ticket;
}

void Trainer::tune(double batch_s) {
  computing_s_ += batch_s;
  if (mid_iteration_) return;
  const auto change = parts_.tuner->after(waiting_s_ + computing_s_, waiting_s_);
  waiting_s_ = computing_s_ = 0;
  if (change && change->line != parts_.line.shape()) parts_.line.retune(change->line);
  if (change && change->threads > 0) parts_.learner->set_threads(change->threads);
  if (!parts_.tuner->settled()) return;
  const auto& [line, threads] = parts_.tuner->best();
  const std::string found = say("data line: ", line.workers, " workers, ", line.readers, " readers, ", line.prefetch,
                                " batches ahead", threads > 0 ? say(", ", threads, " threads to compute") : "");
  if (const double gain = parts_.tuner->gain(); gain > 1)
    log_info(say(found, "; iterations are ", std::lround(100 * (gain - 1)), " % faster than at the start"));
  else
    log_debug(found);
  parts_.tuner = nullptr;
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
