#include "pipeline/session/run.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <thread>

#include "pipeline/config/idle_keys.h"
#include "pipeline/config/words.h"
#include "pipeline/graph/wiring.h"
#include "pipeline/session/assembly.h"
#include "pipeline/session/fingerprints.h"
#include "pipeline/session/leaders_work.h"
#include "pipeline/session/ledger.h"
#include "pipeline/session/memory_check.h"
#include "pipeline/session/pretrain.h"
#include "pipeline/session/result_record.h"
#include "pipeline/session/resume.h"
#include "pipeline/session/validation_data.h"
#include "pipeline/snapshot/atomic_folder.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/telemetry/format.h"
#include "pipeline/telemetry/interrupt.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/tools/advice.h"
#include "pipeline/tools/batch_search.h"
#include "pipeline/tools/plan.h"
#include "pipeline/tools/profile_report.h"
#include "pipeline/train/trainer.h"
#include "sampling/core/settings.h"

namespace flowtrain {

namespace {

// All that a run consists of, at addresses that stay. Members are torn down in reverse: lines before what they read.
class Run {
 public:
  Run(const Config& config, const RunOptions& options, RunState state)
      : config_(config),
        options_(options),
        state_(std::move(state)),
        device_(choose_device(config, options.local_rank, options.processes_here)),
        train_(open_training_data(config, device_, portion())) {
    train_errors_ = ErrorPolicy::from(config.table("train"), config.table("dist"), options.group->size());
    val_errors_ = ErrorPolicy::from(config.table("val"), config.table("dist"), options.group->size());
    state_.samples_per_epoch = train_.dataset->size();
    state_.classes = train_.dataset->classes();
    if (validates()) check_validation_mode();
    if (validates())
      sets_ = open_validation_sets(config, train_.dataset->classes(), device_, portion(), options_.group->leads());
    schedule_ = make_schedule(config, train_.batches, state_.iteration + 1, !sets_.empty());
    // What is not trained moves along no schedule.
    if (options.mode != TrainMode::full)
      for (auto& plan : schedule_.optimizers) plan = {plan.label, plan.at(1), {}, {}, {}};
    schedule_.validate_first = state_.validation_pending && !sets_.empty();
    if (!options_.only_describes) check_memory(memory_need());
    unsigned validating = 0;
    for (auto& set : sets_) validating += set->data.workers;
    scheduler_ = std::make_unique<Scheduler>(train_.workers + validating);
    if (options_.profile) profile_ = std::make_unique<Profile>(schedule_.first, schedule_.last);
    LineParts parts = line_parts("train", train_, config, schedule_.first, schedule_.last);
    parts.plan = [this](std::uint64_t iteration) { return schedule_.plan(iteration); };
    parts.schedule = [this](Plan& plan) { plan.hyper = schedule_.rates(plan.iteration); };
    line_ = make_line(std::move(parts));
    for (auto& set : sets_)
      set->line = make_line(line_parts(set->label(), set->data, set->config, state_.validation[set->name].batches + 1));
    check_rows(sets_);
    log_debug("the data is open");
  }

  void make_learner(const MakeLearner& make) {
    learner_ = options_.dry_run ? std::make_unique<IdleLearner>() : learner_for(line_->layout(), make, &hooks_);
    if (overlaps()) net_copy_ = learner_->copy_net();
    log_debug("the net is made");
  }

  /// In iterations.
  std::uint64_t epoch() const { return iterations_per_epoch(config_, train_.batches); }

  std::string net_summary(const MakeLearner& make) const {
    const NetFigures figures = learner_for(line_->layout(), make)->figures();
    return describe_net(config_.table("net"), figures) + "\n\n" + list_parameters(figures, schedule_.optimizers);
  }

  std::string plan(const MakeLearner& make) const {
    // Two rows: batch normalisation takes no statistics of one.
    const std::uint32_t rows = std::min(2u, train_.batch);
    LineParts few = line_parts("train", train_, config_);
    few.batches = Batches(train_.order->size(), rows, LastBatch::wrap);
    few.batch = rows;
    few.prefetch = 1;
    Line line(std::move(few));
    line.start();
    Ticket ticket;
    if (!line.next(ticket)) throw InternalError("the line ended");
    if (ticket.kind == TicketKind::bad) std::rethrow_exception(line.slab(ticket).error());

    PlanParts parts{config_, train_, sets_.empty() ? nullptr : &sets_.front()->data, schedule_};
    parts.slab_bytes = line_->layout().bytes();
    const auto learner = learner_for(line.layout(), make);
    parts.net = learner->figures();
    parts.row_bytes = learner->memory_probe()->kept_bytes(line.slab(ticket)) / rows;
    line.stop();
    return describe_plan(parts);
  }

  // `processes`: those that train together, of which this one alone is here.
  FoundRows fit(const MakeLearner& make, std::uint64_t processes) {
    const auto learner = learner_for(line_->layout(), make);
    return search_batch({config_, train_, *line_, *learner, processes, options_.processes_here});
  }

  void announce() const {
    const bool several = !train_.sources.empty();
    log_info(
        say("data: ", several ? describe_shares(train_.sources) : format_count(train_.dataset->size()) + " samples",
            " in ", train_.dataset->classes().size(), " classes", describe_sizes(sets_), "; ",
            several ? "an epoch = " : "", format_count(train_.batches.per_epoch()), " batches of ", train_.batch,
            several ? say(" (", epoch_end_of(config_), ")") : " an epoch"));
    log_info(say("device: ", device_, "; ", train_.workers, " workers; iterations ", schedule_.first, " to ",
                 schedule_.last));
    if (!options_.dry_run) log_info("net: " + describe_net(config_.table("net"), learner_->figures()));
    tell_left_open_batch(config_);
    for (auto& note : schedule_notes(config_, epoch(), schedule_.last)) log_info("note: " + note);
    for (auto& note : idle_keys(config_)) log_info("note: " + note);
    if (schedule_.first > schedule_.last) log_info("nothing is left to do; --max-iter sets the length of a run");
  }

  TrainerResult train(MetricsFile* metrics, JsonLinesFile* ledger, SnapshotBranch* snapshots,
                      const Interrupt& interrupt) {
    BadSamples bad = make_ledger(config_, true, *train_.dataset, ledger, options_.group->leads());
    Display display(options_.progress, schedule_.last, metrics);
    TrainerParts parts{schedule_, *line_};
    for (auto& set : sets_) {
      set->bad.emplace(make_ledger(set->config, false, *set->data.dataset, ledger, options_.group->leads()));
      parts.validation.push_back(
          {set->name, *set->line, set->batches(), *set->bad, set->detection ? &*set->detection : nullptr});
    }
    parts.best = BestRule::all(config_);
    parts.learner = learner_.get();
    parts.net_copy = net_copy_.get();
    const auto validation = net_copy_ ? validation_beside(parts.validation, &interrupt) : nullptr;
    wire(parts, display, snapshots, validation.get());
    parts.averages = config_.table("ema").boolean("validate");
    parts.group = options_.group;
    parts.bad_samples = &bad;
    parts.interrupt = &interrupt;
    std::optional<Tuner> tuner;
    if (train_.tunes) tuner.emplace(Tuning{line_->shape(), train_.tunes->most_threads}, *train_.tunes);
    parts.tuner = tuner ? &*tuner : nullptr;
    parts.nonfinite = NonFinitePolicy::from(config_.table("train"));
    parts.nonfinite.targets = std::min<std::size_t>(
        parts.nonfinite.most, static_cast<std::size_t>(config_.table("snapshot").integer("keep_last")));
    if (!options_.folder.empty()) parts.nonfinite.run = options_.folder;
    parts.profile = profile();
    parts.train_errors = train_errors_;
    parts.val_errors = val_errors_;
    parts.early_stop = EarlyStop::from(config_);
    parts.plateaus = Plateau::all(config_);
    // What is never measured never improves, which is no reason to act.
    if (!has_set_of(sets_, config_, parts.early_stop.improvement.metric)) parts.early_stop.patience = 0;
    for (auto& plateau : parts.plateaus)
      if (!has_set_of(sets_, config_, plateau.improvement.metric))
        plateau.patience = std::numeric_limits<std::uint64_t>::max();
    parts.hooks = &hooks_;
    parts.iterations_per_epoch = epoch();
    parts.display_every = period(config_.table("display"), "every").to_iterations(epoch());
    Trainer trainer(parts, std::move(state_));
    TrainerResult result = trainer.run();
    display.finish();
    summarise(result, trainer.state(), interrupt);
    if (profile_) tell_profile(*profile_, *options_.group, metrics, result.iteration);
    if (const auto retries = this->retries(); retries > 0) {
      log_info(say("requests to servers that had to be repeated: ", retries));
      if (metrics) metrics->write("retries", {{"iter", result.iteration}, {"requests", retries}});
    }
    const auto* best = parts.best.front().best(trainer.state().best);
    const bool goes_back = config_.table("snapshot").boolean("end_with_best") && best && snapshots && !result.signal;
    if (goes_back) end_with(best->iteration, *snapshots);
    const std::string params = result.signal ? "" : common_params_xxh64();
    const std::uint64_t weights_of = goes_back ? best->iteration : result.iteration;
    record_ = result_record(
        {result, trainer.state(), parts.best, parts.iterations_per_epoch, params, weights_of, train_.batch});
    if (metrics && !result.signal) {
      std::vector<MetricField> fields{
          {"iter", result.iteration}, {"params_xxh64", params}, {"order_xxh64", trainer.state().order.hex()}};
      if (!result.stopped.empty()) fields.emplace_back("stopped", result.stopped);
      metrics->write("end", fields);
    }
    return result;
  }

  // What the results depend on beside the configuration: held against what the snapshot says, and kept for those to
  // come. It is rank 0 that writes them.
  void settle_basis(const Basis& before, bool accepted) {
    let_leader_work(*options_.group, "the reading of files that results depend on",
                    [&] { state_.fingerprints = fingerprints_of(config_, *train_.dataset, sets_); });
    if (options_.group->leads()) check_basis(before, basis_of(state_), config_, accepted);
  }

  Learner& learner() { return *learner_; }
  Hooks& hooks() { return hooks_; }
  /// After train(): result.json's.
  const std::string& record() const { return record_; }
  std::uint64_t samples_per_epoch() const { return train_.dataset->size(); }
  const RunState& state() const { return state_; }

  Drawing drawing() {
    TrainerParts parts{schedule_, *line_};
    Display display(ProgressMode::off, schedule_.last, nullptr);
    SnapshotBranch snapshots({}, nullptr);
    const auto validation = validation_beside({}, nullptr);
    return wire(parts, display, &snapshots, validation.get());
  }

 private:
  // What runs in a run, and its edges: the trainer works with what is connected here, and `flowtrain graph` draws it.
  // The lines have wired themselves (graph.cpp). `snapshots` and `validation` may be null.
  Drawing wire(TrainerParts& parts, Display& display, SnapshotBranch* snapshots,
               OverlappedValidation* validation) const {
    Wiring graph;
    graph.include(line_->drawing(), "", Wiring::line_end);
    for (const void* outlet : {static_cast<const void*>(&parts.display), static_cast<const void*>(&parts.snapshots),
                               static_cast<const void*>(&parts.beside)})
      graph.alias(outlet, Wiring::line_end);
    graph.add(&display, "display", "display\nbar, log, metrics.jsonl", true);
    graph.connect(parts.display, display, say("queue of ", Display::depth, " reports"));
    if (snapshots) {
      graph.add(snapshots, "snapshot", "snapshot\nwrite, fsync, rename", true);
      graph.connect(parts.snapshots, *snapshots, "one copy of the state");
    }
    if (validation) {
      graph.add(validation, "validate", "validate\na copy of the net", true);
      graph.connect(parts.beside, *validation, "weights");
    }
    for (auto& set : sets_)
      graph.include(set->line->drawing(), set->label() + " ", validation ? "validate" : Wiring::line_end);
    return graph.drawing();
  }

  std::unique_ptr<OverlappedValidation> validation_beside(std::vector<ValidationSet> sets,
                                                          const Interrupt* interrupt) const {
    return overlaps() ? std::make_unique<OverlappedValidation>(std::move(sets), interrupt, val_errors_.action)
                      : nullptr;
  }

  std::unique_ptr<Learner> learner_for(const SlabLayout& layout, const MakeLearner& make,
                                       Hooks* hooks = nullptr) const {
    LearnerSpec spec{config_.table("net"),   config_.table("loss"), config_.list("optim"), config_.list("group"),
                     config_.table("train"), config_.table("run"),  config_.table("val"),  layout};
    spec.val_layout = sets_.empty() ? nullptr : &sets_.front()->line->layout();
    spec.class_names = train_.dataset->classes();
    spec.classes = static_cast<std::int64_t>(spec.class_names.size());
    spec.device = device_;
    spec.seed = seed_of(config_);
    spec.mode = options_.mode;
    spec.mixing = mixing_of(config_);
    spec.processes_here = options_.processes_here;
    spec.sampler = &config_.table("sampler");
    spec.detect = &config_.table("detect");
    spec.ema = &config_.table("ema");
    spec.step = &config_.table("step");
    spec.init = &config_.list("net.init");
    spec.metrics = &config_.list("metric");
    spec.hook_list = &config_.list("hook");
    spec.hooks = hooks;
    spec.dist = &config_.table("dist");
    spec.group = options_.group;
    spec.profile = hooks ? profile() : nullptr;  // of the net that trains
    return make(spec);
  }

  Profile* profile() const { return profile_.get(); }

  std::unique_ptr<Line> make_line(LineParts parts) const {
    parts.profile = profile();
    return std::make_unique<Line>(std::move(parts));
  }

  // The last snapshot has the last weights; the processes end with the best ones.
  void end_with(std::uint64_t best, SnapshotBranch& snapshots) {
    if (!snapshots.load(*learner_, {best}))
      throw UserError(
          Exit::snapshot,
          say("the weights of iteration ", best, ", the best ones, cannot be had: its snapshot is gone, or damaged"),
          "snapshot.end_with_best = false ends with the last weights");
    if (options_.group->leads()) log_info(say("the weights are those of iteration ", best, ", the best ones"));
  }

  // Every process has the same parameters, bit by bit, or the training was none.
  std::string common_params_xxh64() const {
    std::string own = params_xxh64(*learner_);
    if (options_.group->broadcast("the comparison of parameters", own) != own)
      throw InternalError("rank " + std::to_string(options_.group->rank()) +
                          " ended with other parameters than rank 0");
    return own;
  }

  Portion portion() const {
    const Group& group = *options_.group;
    return {{static_cast<std::uint64_t>(group.rank()), static_cast<std::uint64_t>(group.size())},
            options_.processes_here};
  }

  std::uint64_t retries() const {
    std::uint64_t sum = train_.dataset->retries();
    for (auto& set : sets_) sum += set->data.dataset->retries();
    return sum;
  }

  MemoryNeed memory_need() const {
    MemoryNeed need{config_, &train_, {}, !options_.dry_run, options_.processes_here};
    for (auto& set : sets_) need.validation.push_back(&set->data);
    return need;
  }

  bool validates() const {
    return !options_.dry_run && options_.mode == TrainMode::full && !period(config_.table("val"), "every").off();
  }

  bool overlaps() const { return !sets_.empty() && config_.table("val").text("mode") == "overlapped"; }

  // Its sums would get between training's own, in another order on each process.
  void check_validation_mode() const {
    const Settings& val = config_.table("val");
    if (val.text("mode") == "inline" || options_.group->size() == 1) return;
    throw val.error("mode", say("\"overlapped\" is for one process, and ", options_.group->size(), " train together"),
                    Exit::usage, "val.mode = \"inline\" shares each validation out among them");
  }

  void summarise(const TrainerResult& result, const RunState& state, const Interrupt& interrupt) const {
    const std::uint64_t done = result.iteration + 1 - schedule_.first;
    // In a group the result has no more than the kind of signal.
    const std::string signal = result.signal ? signal_name(interrupt.requested().value_or(*result.signal)) : "";
    if (!result.stopped.empty()) log_info("stopped early: " + result.stopped);
    if (done == 0 && result.signal)
      log_info(say("interrupted before iteration ", schedule_.first, " was done (", signal, ")"));
    if (done == 0) return;
    log_info(say(result.signal ? "interrupted after" : "done:", " iteration ", result.iteration, " (", signal,
                 result.signal ? "; " : "", format_count(done), " in ", format_duration(result.wall_s), ")"));
    log_info(waiting_advice({line_->times(), result.wall_s, result.wait_s, train_.workers, train_.readers,
                             std::max(1u, std::thread::hardware_concurrency())}));
    if (options_.dry_run) log_info("order_xxh64 " + state.order.hex());
  }

  const Config& config_;
  RunOptions options_;
  RunState state_;
  Hooks hooks_;
  std::unique_ptr<Profile> profile_;  // of --profile
  ErrorPolicy train_errors_, val_errors_;
  std::string device_;
  DataParts train_;
  ValidationSets sets_;  // none without validation
  Schedule schedule_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Line> line_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<NetCopy> net_copy_;  // of the learner; null where validation is inline
  std::string record_;
};

// A fresh start that fails before it trains (data that is not there, a net that does not fit) leaves no folder behind.
class FailedStart {
 public:
  FailedStart(const Start& start, Interrupt& interrupt) : start_(start), interrupt_(interrupt) {}
  ~FailedStart() {
    if (done_) return;
    if (!start_.resumed && start_.folder) RunFolder::discard(start_.folder->path());
    interrupt_.set_cleanup({});
  }
  void succeeded() {
    done_ = true;
    interrupt_.set_cleanup({});
  }

 private:
  const Start& start_;
  Interrupt& interrupt_;
  bool done_ = false;
};

void set_grace(Interrupt& interrupt, const Config& config) {
  interrupt.set_grace(std::chrono::duration<double>(config.table("run").real("grace")));
}

int exit_code(const TrainerResult& result) {
  if (result.error) std::rethrow_exception(result.error);
  return result.signal ? Interrupt::exit_code(*result.signal) : 0;
}

SnapshotPolicy snapshot_policy(const Start& start, std::uint64_t iterations_per_epoch) {
  const Settings& snapshot = start.config.table("snapshot");
  SnapshotPolicy policy;
  if (start.folder) policy.folder = start.folder->snapshots();
  policy.keep_last = static_cast<std::size_t>(snapshot.integer("keep_last"));
  policy.best = BestRule::all(start.config);
  policy.keep_every = period(snapshot, "keep_every").to_iterations(iterations_per_epoch);
  // Where a rollback goes must not depend on how fast the disk is.
  policy.skip_when_busy = snapshot.text("when_busy") == "skip" && !rolls_back(start.config);
  policy.stop_on_error = snapshot.text("on_error") == "stop";
  policy.config_toml = to_toml(start.config);
  return policy;
}

// Rank 0's weights, which all get: a snapshot's, which rank 0 has opened, or those of net.pretrain.
void load_first_weights(Learner& learner, const Start& start, std::optional<OpenSnapshot>& snapshot, Group& group,
                        Interrupt& interrupt) {
  if (!start.snapshot) return load_pretrained(learner, start.config.table("net"), group, &interrupt);
  if (snapshot) {
    learner.load_state(tensors_to_resume(*snapshot, start.config));
    log_info(say("going on after iteration ", snapshot->iteration, ", from ", start.snapshot->string()));
    snapshot.reset();
  }
}

// What rank 0 alone writes.
struct Journals {
  // Lines of iterations that a resumed run, whose state is `state`, does again are taken back.
  Journals(const Start& start, const RunState& state) {
    const auto metrics_path = start.folder->path() / "metrics.jsonl",
               ledger_path = start.folder->path() / "bad_samples.jsonl";
    if (start.resumed)
      for (auto& path : {metrics_path, ledger_path}) cut_back(path, state.iteration, state.validates_again_from() - 1);
    metrics.emplace(metrics_path);
    ledger.emplace(ledger_path);
    if (start.resumed) metrics->write("resume", {{"iter", state.iteration}});
  }

  std::optional<MetricsFile> metrics;
  std::optional<JsonLinesFile> ledger;
};

RunOptions describing() {
  RunOptions options;
  options.only_describes = true;
  return options;
}

}  // namespace

int run_training(const Start& start, const RunOptions& options, const MakeLearner& make_learner, Interrupt& interrupt) {
  set_grace(interrupt, start.config);
  Group& group = *options.group;
  std::optional<OpenSnapshot> snapshot;
  if (start.snapshot && group.leads()) snapshot.emplace(open_verified(*start.snapshot));
  RunState state = initial_state(start, snapshot, group);
  const Basis before = basis_of(state);

  FailedStart failed(start, interrupt);
  RunOptions named = options;
  named.folder = start.path.string();
  Run run(start.config, named, std::move(state));
  run.settle_basis(before, start.accept_changes);
  run.make_learner(make_learner);
  load_first_weights(run.learner(), start, snapshot, group, interrupt);
  run.learner().share_state();
  if (!options.in_memory) interrupt.defer();  // from here on there is something to save
  failed.succeeded();

  if (start.resumed && start.folder) take_over(start.folder->snapshots(), run.state());
  std::optional<Journals> journals;
  if (start.folder) journals.emplace(start, run.state());
  MetricsFile* metrics = journals ? &*journals->metrics : nullptr;
  std::optional<SnapshotBranch> snapshots;  // nothing of a run in memory is kept
  if (!options.in_memory) snapshots.emplace(snapshot_policy(start, run.epoch()), metrics, group);
  if (snapshots && (options.initialize || (rolls_back(start.config) && !start.snapshot)))
    snapshots->take(run.learner(), run.state());
  if (options.initialize) {
    if (!snapshots->finish()) throw UserError(Exit::snapshot, "the initial parameters could not be written");
    return 0;
  }

  if (group.leads()) run.announce();
  const TrainerResult result =
      run.train(metrics, journals ? &*journals->ledger : nullptr, snapshots ? &*snapshots : nullptr, interrupt);
  const bool written = !snapshots || snapshots->finish();
  if (snapshots) snapshots->check();
  if (start.folder) write_file_atomically(start.folder->path() / "result.json", run.record());
  if (!written)
    throw UserError(Exit::snapshot, "the last snapshot could not be written (the reason is above)",
                    "make room, then --resume auto goes on from the one before");
  return exit_code(result);
}

int run_without_traces(const Config& config, const RunOptions& options, const MakeLearner& make_learner,
                       Interrupt& interrupt) {
  set_grace(interrupt, config);
  Run run(config, options, {});
  run.make_learner(make_learner);
  if (!options.dry_run) load_pretrained(run.learner(), config.table("net"), solo_group(), &interrupt);
  run.announce();
  interrupt.defer();  // what was measured so far is told at the end
  return exit_code(run.train(nullptr, nullptr, nullptr, interrupt));
}

FoundRows fit_batch(const Config& config, const RunOptions& options, const MakeLearner& make_learner) {
  RunOptions alone = options;
  alone.group = &solo_group();
  alone.dry_run = true;  // opens the training data only
  alone.mode = TrainMode::full;
  alone.profile = false;
  return Run(config, alone, {}).fit(make_learner, static_cast<std::uint64_t>(options.group->size()));
}

std::string plan_run(const Config& config, const MakeLearner& make_learner) {
  return Run(config, describing(), {}).plan(make_learner);
}

std::string summarise_net(const Config& config, const MakeLearner& make_learner) {
  return Run(config, describing(), {}).net_summary(make_learner);
}

namespace {

/// A hook that others own.
class Borrowed : public Hook {
 public:
  explicit Borrowed(Hook& hook) : hook_(hook) {}
  std::vector<Point> points() const override { return hook_.points(); }
  void at(Point point, Moment& moment) override { hook_.at(point, moment); }

 private:
  Hook& hook_;
};

}  // namespace

int find_lr(const Config& config, LrFinder& finder, const MakeLearner& make_learner, Interrupt& interrupt) {
  set_grace(interrupt, config);
  RunOptions options;
  options.progress = ProgressMode::off;
  Run run(config, options, {});
  run.make_learner(make_learner);
  load_pretrained(run.learner(), config.table("net"), solo_group(), &interrupt);
  constexpr std::int64_t last = 1'000'000'000;  // after all others
  run.hooks().add(std::make_unique<Borrowed>(finder), "lr-find", last);
  interrupt.defer();  // what was found so far is told at the end
  return exit_code(run.train(nullptr, nullptr, nullptr, interrupt));
}

std::string list_hooks(const Config& config, const MakeLearner& make_learner) {
  Run run(config, describing(), {});
  run.make_learner(make_learner);
  return run.hooks().describe();
}

std::string draw_graph(const Config& config) { return to_dot(Run(config, describing(), {}).drawing(), config.name()); }

}  // namespace flowtrain
