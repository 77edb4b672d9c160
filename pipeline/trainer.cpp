#include "pipeline/trainer.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <limits>
#include <span>

#include "pipeline/exchange.h"
#include "pipeline/telemetry/interrupt.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/validation.h"

namespace flowtrain {

namespace {

constexpr std::size_t loss_window = 20;

double seconds(std::chrono::steady_clock::duration span) { return std::chrono::duration<double>(span).count(); }

// What ranks wait for an answer of the store, which is beside rank 0: where most of the others wait long, it is for rank 0's
// own way to them.
int slowest_link(std::span<const double> waits) {
  const auto longest = std::max_element(waits.begin(), waits.end());
  const auto others = waits.subspan(1);
  const auto slow = std::count_if(others.begin(), others.end(), [&](double wait) { return wait > *longest / 2; });
  return others.size() > 1 && 2 * static_cast<std::size_t>(slow) > others.size() ? 0 : static_cast<int>(longest - waits.begin());
}

}  // namespace

Trainer::Trainer(TrainerParts parts, RunState state) : parts_(std::move(parts)), state_(std::move(state)) {
  parts_.bad_samples->restore(state_.bad_samples);
  if (parts_.bad_validation_samples) parts_.bad_validation_samples->restore(state_.bad_validation_samples);
  result_.iteration = state_.iteration;
  snapshot_taken_ = state_.iteration;
}

TrainerResult Trainer::run() {
  const double elapsed_before_s = state_.elapsed_s;
  start_ = since_ = Clock::now();
  parts_.line.start();
  if (parts_.validation) parts_.validation->start();
  const std::stop_callback wake(wakes(), [this] {
    parts_.line.abandon();
    if (parts_.validation) parts_.validation->abandon();
  });
  bool more = true;
  while (more && !interrupted()) {
    const Ticket ticket = await();
    if (in_haste(ticket)) break;
    const auto begin = Clock::now();
    more = step(ticket);
    const auto end = Clock::now();
    if (ticket.kind == TicketKind::batch) computing_s_ += seconds(end - begin);
    if (parts_.tuner && ticket.kind == TicketKind::batch && !mid_iteration_) {
      tune(waiting_s_ + computing_s_, waiting_s_);
      waiting_s_ = computing_s_ = 0;
    }
    state_.elapsed_s = elapsed_before_s + seconds(end - start_);
  }
  result_.wall_s = seconds(Clock::now() - start_);
  if (result_.signal) {
    if (mid_iteration_) forget_iteration();
    if (state_.iteration > snapshot_taken_ || state_.validation_pending) snapshot(SnapshotReason::end);
  } else {
    parts_.line.check_finished();
  }
  parts_.line.stop();
  if (parts_.validation) parts_.validation->stop();
  return result_;
}

// What all processes do because one of them asked for it.
void Trainer::heed(const Votes& votes) {
  if (votes.terminated > 0) result_.signal = SIGTERM;
  else if (votes.interrupted > 0) result_.signal = SIGINT;
  if (votes.failed == 0) return;
  if (parts_.snapshots) parts_.snapshots->check();
  throw UserError(Exit::snapshot, "rank 0 could not write a snapshot");
}

// What all processes know is told once.
void Trainer::warn(const std::string& text) const {
  if (parts_.group->leads()) log_warn(text);
}

// One step of the run, whatever kind it is. False at the end.
bool Trainer::step(const Ticket& ticket) {
  switch (ticket.kind) {
    case TicketKind::learning_rate:
      set_learning_rate(ticket.iteration);
      return true;
    case TicketKind::batch:
      train(ticket);
      return true;
    case TicketKind::validate:
      validate(ticket.iteration);
      return true;
    case TicketKind::snapshot:
      snapshot(ticket.iteration == parts_.schedule.last ? SnapshotReason::end : SnapshotReason::period);
      return true;
    case TicketKind::bad:
      std::rethrow_exception(parts_.line.slab(ticket).error());
    case TicketKind::end:
      return false;
    case TicketKind::drained:
      break;
  }
  throw InternalError("a ticket of an unknown kind");
}

void Trainer::set_learning_rate(std::uint64_t iteration) {
  lr_ = parts_.schedule.decay.at(iteration) * state_.lr_scale;
  parts_.learner->set_learning_rate(lr_);
}

// One micro-batch: forward and backward; the last of an iteration also updates the parameters.
void Trainer::train(const Ticket& ticket) {
  Slab& slab = parts_.line.slab(ticket);
  bad_.insert(bad_.end(), slab.bad().begin(), slab.bad().end());
  const bool last = ticket.micro + 1u == parts_.schedule.accum;
  mid_iteration_ = !last;
  parts_.group->at_iteration(ticket.iteration);

  const auto begin = Clock::now();
  if (last && grouped()) parts_.learner->vote(own_votes());
  parts_.learner->backward(slab);
  compute_s_ += seconds(Clock::now() - begin);

  if (grouped()) {
    // All ranks' rows, for what rank 0 alone writes: on each, the cost of a step would grow with their number.
    const auto rows = parts_.group->leads() ? parts_.line.rows(ticket) : std::vector<StreamRow>{};
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    samples_ += rows.size();
  } else {
    for (auto& row : slab.rows()) ids_.push_back(row.id);
    samples_ += slab.rows().size();
  }
  if (last) finish_iteration(ticket, slab);
  parts_.line.release(ticket);
}

void Trainer::finish_iteration(const Ticket& ticket, const Slab& slab) {
  const auto begin = Clock::now();
  state_.order.update(std::as_bytes(std::span(ids_)));
  ids_.clear();
  const bool due = parts_.display_every > 0 && ticket.iteration % parts_.display_every == 0;
  // What goes to the disk or decides which weights are best must be sound.
  const bool kept = parts_.schedule.snapshots_after(ticket.iteration) || parts_.schedule.validates_after(ticket.iteration);
  update(slab, grouped() || due || kept || parts_.learner->result_is_cheap() || parts_.nonfinite.action != NonFinitePolicy::Action::stop);
  compute_s_ += seconds(Clock::now() - begin);
  state_.iteration = result_.iteration = ticket.iteration;
  state_.validation_pending = parts_.validation && parts_.schedule.validates_after(ticket.iteration);
  ++iterations_;
  event_.report = due;
  report(slab.epoch());
  if (parts_.snapshots && !grouped()) parts_.snapshots->check();
}

Votes Trainer::own_votes() const {
  Votes votes;
  votes.bad_samples = static_cast<double>(bad_.size());
  const auto signal = parts_.interrupt ? parts_.interrupt->requested() : std::nullopt;
  if (signal) (*signal == SIGINT ? votes.interrupted : votes.terminated) = 1;
  votes.failed = parts_.snapshots && parts_.snapshots->has_failed();
  return votes;
}

// What took a bad sample's place was trained on.
std::uint64_t Trainer::trained_on(const StreamRow& row) const {
  const auto replaced = substitutes_.find(row.position);
  return replaced == substitutes_.end() ? row.id : replaced->second;
}

// What was found bad, by anyone, goes into the ledger, and what took its place into the order's hash.
void Trainer::settle_samples(std::uint64_t iteration, const Votes& votes) {
  std::vector<BadSample> found;
  if (votes.bad_samples > 0) found = bad_samples_of_all(*parts_.group, bad_);
  bad_.clear();
  substitutes_.clear();
  for (auto& bad : found) substitutes_[bad.position] = bad.substitute;
  for (auto& row : rows_) {
    const auto id = trained_on(row);
    state_.order.update(std::as_bytes(std::span(&id, 1)));
  }
  rows_.clear();
  parts_.bad_samples->account(std::move(found), iteration);
  if (const auto& ids = parts_.bad_samples->ids(); ids.size() != state_.bad_samples.size()) state_.bad_samples = ids;
}

// `looks`: the figures are worth waiting for the device.
void Trainer::update(const Slab& slab, bool looks) {
  event_.loss = event_.grad_norm = std::numeric_limits<double>::quiet_NaN();
  event_.recovery = nullptr;
  const std::uint64_t iteration = slab.ticket().iteration;
  if (!looks) {
    settle_samples(iteration, own_votes());
  } else {
    const StepResult done = parts_.learner->result();
    settle_samples(iteration, grouped() ? done.votes : own_votes());
    if (grouped()) heed(done.votes);
    event_.loss = done.loss;
    loss_parts_ = done.parts;
    event_.grad_norm = done.grad_norm;
    exchange_s_ += done.exchange_s;
    exposed_s_ += done.exposed_s;
    if (!is_finite(done)) return recover(slab, done);
    state_.losses.push_back(done.loss);
    if (state_.losses.size() > loss_window) state_.losses.pop_front();
  }
  parts_.learner->update();
  state_.nonfinite_in_a_row = 0;
  state_.rollback_limit = RunState::no_limit;
}

// Names the samples of all processes: which of them is to blame is not known.
UserError Trainer::nonfinite(const Slab& slab, const StepResult& done, const std::string& why) const {
  std::vector<std::uint64_t> samples;
  if (grouped())
    for (auto& row : parts_.line.rows(slab.ticket())) samples.push_back(trained_on(row));
  else
    for (auto& row : slab.rows()) samples.push_back(row.id);
  return nonfinite_error(slab.ticket().iteration, samples, done, why);
}

void Trainer::recover(const Slab& slab, const StepResult& done) {
  const NonFinitePolicy& policy = parts_.nonfinite;
  ++state_.nonfinite;
  ++state_.nonfinite_in_a_row;
  switch (policy.action) {
    case NonFinitePolicy::Action::stop:
      throw nonfinite(slab, done);
    case NonFinitePolicy::Action::skip:
      if (state_.nonfinite_in_a_row > policy.most) throw nonfinite(slab, done, say(policy.most, " in a row were skipped"));
      parts_.learner->discard();
      event_.recovery = "skipped";
      warn(say(nonfinite(slab, done).what(), "; this update is skipped"));
      return;
    case NonFinitePolicy::Action::rollback:
      if (state_.nonfinite > policy.most) throw nonfinite(slab, done, say("after ", policy.most, " rollbacks"));
      return roll_back(slab, done);
  }
}

// The data goes on where it is: what was met on the way to the bad batch, and that batch, are not met again.
void Trainer::roll_back(const Slab& slab, const StepResult& done) {
  const auto snapshot = parts_.snapshots ? parts_.snapshots->newest(state_.rollback_limit) : std::nullopt;
  const std::string found = parts_.group->broadcast(snapshot ? std::to_string(snapshot->iteration) : "");
  if (found.empty()) throw nonfinite(slab, done, "there is no snapshot to go back to");
  if (snapshot) parts_.learner->load_state(read_tensors(*snapshot));
  parts_.learner->share_state();
  // Weights that fail at once were bad already: the next rollback goes further back.
  const std::uint64_t iteration = std::stoull(found);
  state_.rollback_limit = iteration > 0 ? iteration - 1 : 0;
  state_.lr_scale *= parts_.nonfinite.rollback_lr;
  set_learning_rate(slab.ticket().iteration);
  event_.recovery = "rolled back";
  warn(say(nonfinite(slab, done).what(), "; the weights go back to those of iteration ", iteration,
               ", the learning rate is lowered to ", lr_));
}

void Trainer::report(std::uint64_t epoch) {
  const double wall_s = seconds(Clock::now() - since_), run_s = seconds(Clock::now() - start_);
  const auto done = static_cast<double>(state_.iteration + 1 - parts_.schedule.first);
  event_.iteration = state_.iteration;
  event_.epoch = epoch;
  event_.lr = lr_;
  event_.loss_avg = 0;
  for (double loss : state_.losses) event_.loss_avg += loss / static_cast<double>(state_.losses.size());
  event_.samples_per_s = static_cast<double>(samples_) / wall_s;
  event_.data_wait = waited_s_ / wall_s;
  event_.data_time_s = waited_s_ / static_cast<double>(iterations_);
  event_.step_time_s = compute_s_ / static_cast<double>(iterations_);
  if (grouped() && event_.report) compare_ranks();
  event_.eta_s = run_s / done * static_cast<double>(parts_.schedule.last - state_.iteration);
  parts_.display->step(event_, loss_parts_);
  if (!event_.report) return;
  since_ = Clock::now();
  waited_s_ = compute_s_ = exchange_s_ = exposed_s_ = 0;
  samples_ = iterations_ = 0;
}

// Times are those of the slowest process: all wait for it. What a process waits for the others is not its own.
void Trainer::compare_ranks() {
  const auto iterations = static_cast<double>(iterations_);
  const auto size = static_cast<std::size_t>(parts_.group->size()), rank = static_cast<std::size_t>(parts_.group->rank());
  std::vector<double> all(6 * size);
  const auto of = [&](std::size_t what) { return std::span(all).subspan(what * size, size); };
  of(0)[rank] = event_.data_wait;
  of(1)[rank] = event_.data_time_s;
  of(2)[rank] = (compute_s_ - exposed_s_) / iterations;
  of(3)[rank] = exchange_s_ / iterations;
  of(4)[rank] = exposed_s_ / iterations;
  of(5)[rank] = parts_.group->take_link_time();
  parts_.group->sum(all);
  const auto most = [&](std::size_t what) { return *std::max_element(of(what).begin(), of(what).end()); };
  std::size_t slowest = 0;
  for (std::size_t i = 1; i < size; ++i)
    if (of(1)[i] + of(2)[i] > of(1)[slowest] + of(2)[slowest]) slowest = i;
  event_.slowest_rank = static_cast<int>(slowest);
  event_.slowest_s = of(1)[slowest] + of(2)[slowest];
  event_.slowest_link = slowest_link(of(5));
  event_.link_s = most(5);
  event_.data_wait = most(0);
  event_.data_time_s = most(1);
  event_.step_time_s = most(2) + of(4)[slowest];
  event_.exchange_s = of(3)[slowest];  // the last to come waits for the network alone
  event_.exchange_hidden = event_.exchange_s > 0 ? 1 - of(4)[slowest] / event_.exchange_s : 0;
}

// An interrupted validation is left to the resumed run, from its start.
void Trainer::validate(std::uint64_t iteration) {
  const auto begin = Clock::now();
  const auto figures = run_validation(*parts_.validation, *parts_.learner, *parts_.bad_validation_samples, iteration,
                                      parts_.validation_batches, parts_.interrupt, *parts_.group, parts_.detection);
  state_.bad_validation_samples = parts_.bad_validation_samples->ids();
  state_.validation_pending = !figures;
  if (!figures) return;
  state_.validation_batches += parts_.validation_batches;
  const bool improved = rank(iteration, *figures);
  parts_.display->validation(iteration, *figures, improved);
  if (improved) snapshot(SnapshotReason::best);
  since_ += Clock::now() - begin;  // validation is no part of the training line's pace
}

// Enters the ranking. True where this validation is the best so far.
bool Trainer::rank(std::uint64_t iteration, const Figures& figures) {
  const auto ruling = std::find_if(figures.begin(), figures.end(), [&](auto& f) { return f.first == parts_.ruling_metric; });
  if (ruling == figures.end() || !std::isfinite(ruling->second)) return false;
  const bool lower_wins = parts_.ruling_metric == "loss";
  auto better = [&](const Ranked& a, const Ranked& b) { return lower_wins ? a.value < b.value : a.value > b.value; };
  const Ranked entry{iteration, ruling->second};
  const auto place = std::upper_bound(state_.best.begin(), state_.best.end(), entry, better);
  const bool improved = place == state_.best.begin();
  state_.best.insert(place, entry);
  if (state_.best.size() > std::max<std::size_t>(parts_.keep_best, 1)) state_.best.pop_back();
  return improved;
}

void Trainer::snapshot(SnapshotReason reason) {
  const bool is_new = snapshot_taken_ != state_.iteration || reason == SnapshotReason::best || state_.validation_pending;
  if (!parts_.snapshots || !is_new) return;
  if (parts_.snapshots->take(*parts_.learner, state_, reason)) snapshot_taken_ = state_.iteration;
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

Ticket Trainer::await() {
  const auto begin = Clock::now();
  Ticket ticket;
  if (!parts_.line.next(ticket)) throw InternalError("the line ended before its end ticket");
  const double waited = seconds(Clock::now() - begin);
  waited_s_ += waited;
  waiting_s_ += waited;
  result_.wait_s += waited;
  return ticket;
}

void Trainer::tune(double iteration_s, double waited_s) {
  const auto change = parts_.tuner->after(iteration_s, waited_s);
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
