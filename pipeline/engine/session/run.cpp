#include "pipeline/engine/session/run.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <limits>
#include <memory>

#include "pipeline/base/config/run_folder.h"
#include "pipeline/base/errors/leaders_work.h"
#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/environment.h"
#include "pipeline/base/telemetry/graph_json.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/report/profile_report.h"
#include "pipeline/engine/report/summary.h"
#include "pipeline/engine/session/announce.h"
#include "pipeline/engine/session/bad_sample_log.h"
#include "pipeline/engine/session/fingerprints.h"
#include "pipeline/engine/session/finished_run.h"
#include "pipeline/engine/session/meters.h"
#include "pipeline/engine/session/pixel_form.h"
#include "pipeline/engine/session/pretrain.h"
#include "pipeline/engine/session/resume.h"
#include "pipeline/engine/session/resume_command.h"
#include "pipeline/engine/session/run_files.h"
#include "pipeline/engine/session/run_graph.h"
#include "pipeline/engine/text/text_samples.h"
#include "pipeline/engine/train/hash_journal.h"
#include "pipeline/engine/train/trainer.h"
#include "sampling/core/secrets.h"
#include "sampling/core/settings.h"
#include "sampling/io/held_folder.h"
#include "stages/flight/flight.h"

namespace flowtrain {

namespace {

// A session that trains. Members are destroyed in reverse order: the loader before the data that it reads.
class Run {
 public:
  Run(const Config& config, const RunOptions& options, RunState state)
      : config_(config), options_(options), state_(std::move(state)), session_(config, options) {
    train_errors();  // Refuses impossible values before data is opened.
    state_.inputs.samples_per_epoch = session_.open_training().dataset->size();
    state_.inputs.classes = session_.classes();
    state_.inputs.pixels = learnt_pixels(config_, *session_.train().dataset);
    state_.inputs.parts = used_parts(config_, *session_.train().dataset);
    check_split(*session_.train().dataset, *options_.group);
    session_.open_validation();
    if (options_.group->leads()) warn_of_same_samples(*session_.train().dataset, session_.validation());
    run_plan_ = session_.run_plan(state_.iteration + 1);
    if (options_.folder.empty()) run_plan_.hash_every = {};  // There is no verify.jsonl.
    run_plan_.validate_first = state_.validations.due && !session_.validation().empty();
    session_.prepare();
    if (options_.profile) {
      profile_.emplace(run_plan_.first, run_plan_.last);
      profile_->time_streams(*session_.train().device);
    }
    Profile* of_loaders = options_.profile ? &*profile_ : nullptr;
    loader_ = session_.make_training_loader(run_plan_, of_loaders);
    session_.make_validation_loaders(state_.validations.sets, of_loaders);
    log_debug("the data is open");
  }

  void make_learner(const MakeLearner& make) {
    learner_ = session_.make_learner(make, loader_->layout(), &hooks_, &*profile_);
    if (!options_.dry_run) texts_.check(*learner_);
    if (session_.validates_async()) replica_ = learner_->make_replica();
    log_debug("the net is made");
  }

  TrainerResult train(MetricsFile* metrics, JsonLinesFile* bad_sample_log, SnapshotBranch* snapshots,
                      HashJournal* journal, const Interrupt& interrupt) {
    const bool is_leader = options_.group->leads();
    BadSamples bad = make_bad_sample_log(config_, true, *session_.train().dataset, bad_sample_log, is_leader);
    const auto loggers =
        make_loggers({config_, options_.progress, run_plan_.first, run_plan_.last, metrics, session_.epoch()});
    std::optional<Tuner> tuner;
    if (const auto& limits = session_.train().tunes)
      tuner.emplace(Tuning{loader_->shape(), limits->most_threads}, *limits);
    TrainerParts parts = trainer_parts();
    Meters meters;
    if (metrics) {
      meters = make_meters(session_.device(), *config_.train().amp);
      const Settings& display = config_.table("display");
      if (display.boolean("tensorboard"))
        parts.reports.histograms_every = period(display, "histograms").to_iterations(epoch());
    }
    parts.reports.machine = meters.machine.get();
    parts.reports.peak_flops = meters.peak_flops;
    parts.reports.journal = journal;
    std::deque<std::optional<SampleChoice>> shown;  // at addresses that stay
    for (auto& set : session_.validation()) {
      set->bad.emplace(make_bad_sample_log(set->config, false, *set->data.dataset, bad_sample_log, is_leader));
      parts.validation.sets.push_back({set->name, *set->loader, set->batches(), *set->bad,
                                       set->detection ? &*set->detection : nullptr,
                                       shown.emplace_back(sample_choice(*set)) ? &*shown.back() : nullptr});
    }
    // The first set is measured last, and its metrics do not depend on what follows.
    if (texts_.any() && !parts.validation.sets.empty()) parts.validation.sets.front().texts = &texts_;
    std::optional<AsyncValidation> async;
    if (replica_) async.emplace(parts.validation.sets, &interrupt, parts.validation.rules.errors.action);
    const Drawing graph = wire_run(session_, *loader_, parts, loggers, snapshots, async ? &*async : nullptr);
    if (metrics) write_graph(graph);
    for (auto& each : loggers) each.logger->begin(graph);
    parts.bad_samples = &bad;
    parts.interrupt = &interrupt;
    parts.tuner = tuner ? &*tuner : nullptr;
    Trainer trainer(parts, std::move(state_));
    TrainerResult result = trainer.run();
    for (auto& each : loggers) each.logger->finish();
    const FinishedRun finished(session_, run_plan_, result, trainer.state(), metrics);
    finished.summarise(interrupt, meters.machine ? meters.machine->cpu() : CpuTime());
    if (options_.profile) tell_profile(*profile_, *options_.group, metrics, result.iteration);
    finished.log_retries();
    record_ = finished.finish(*learner_, parts.validation.rules.best, snapshots);
    rankings_ = trainer.state().validations.best;
    return result;
  }

  /// Compares the run's inputs with those `before`, in rank 0, which writes them into snapshots.
  void check_inputs(const RunInputs& before, bool accepted) {
    let_leader_work(*options_.group, "the reading of files that results depend on", [&] {
      state_.inputs.fingerprints = fingerprints_of(config_, *session_.train().dataset, session_.validation());
    });
    if (options_.group->leads()) flowtrain::check_inputs(before, state_.inputs, config_, accepted);
  }

  /// Forgets the snapshots of an earlier net: no rollback goes back to them, none of them is the best, and no
  /// interrupted validation restarts from one.
  void forget_snapshots() {
    state_.nonfinite.rollback_targets.clear();
    state_.validations.best.clear();
    if (auto& pending = state_.validations.pending; pending && !pending->scalars) pending.reset();
    if (!options_.group->leads()) return;
    log_info("the earlier snapshots are of a net with other tensors: none of them counts as the best any more");
    std::error_code ignored;
    for (auto& rule : BestRule::all(config_))
      std::filesystem::remove(std::filesystem::path(options_.folder) / "snapshots" / rule.link, ignored);
  }

  /// Returns whether an iteration is left to do.
  bool has_work() const { return run_plan_.first <= run_plan_.last; }
  bool has_journal() const { return !run_plan_.hash_every.off(); }
  Learner& learner() { return *learner_; }
  Hooks& hooks() { return hooks_; }
  Every epoch() const { return session_.epoch(); }
  void announce() { flowtrain::announce(session_, run_plan_, *learner_); }
  /// Returns the text of result.json, after train().
  const std::string& record() const { return record_; }
  const RunState& state() const { return state_; }
  /// Returns how the rules of the best ranked the validations, after train().
  const Rankings& rankings() const { return rankings_; }

 private:
  ErrorPolicy train_errors() const {
    return ErrorPolicy::from(config_.train(), config_.table("dist"), options_.group->size());
  }

  // Returns the parts that follow from the configuration alone.
  TrainerParts trainer_parts() {
    TrainerParts parts{run_plan_, *loader_};
    parts.learner = learner_.get();
    parts.group = options_.group;
    parts.hooks = &hooks_;
    parts.epoch = epoch();
    parts.snapshot_every_s = period(config_.snapshot().every, true).seconds();
    parts.rules = step_rules();
    parts.validation.rules = {.best = BestRule::all(config_),
                              .early_stop = EarlyStop::from(config_),
                              .errors = ErrorPolicy::from(config_.val()),
                              .averages = validates_average(config_)};
    parts.validation.replica = replica_.get();
    // A metric without a validation set must not trigger early stopping.
    auto& early_stop = parts.validation.rules.early_stop;
    if (!is_measured(early_stop.improvement.of.name)) early_stop.patience = 0;
    parts.reports.every = period(config_.table("display"), "every").to_iterations(epoch());
    parts.reports.profile = &*profile_;
    return parts;
  }

  StepRules step_rules() const {
    StepRules rules;
    rules.nonfinite = NonFinitePolicy::from(config_.train());
    rules.nonfinite.targets =
        std::min<std::size_t>(rules.nonfinite.most, static_cast<std::size_t>(*config_.snapshot().keep_last));
    if (!options_.folder.empty()) rules.nonfinite.run = options_.folder;
    rules.nonfinite.has_schedules = !config_.list("schedule").empty();
    rules.errors = train_errors();
    rules.schedules = stateful_schedules(config_, epoch(), run_plan_.last,
                                         [this](const std::string& scalar) { return is_measured(scalar); });
    return rules;
  }

  // Returns whether validations, or training between them, measure this metric.
  bool is_measured(const std::string& scalar) const {
    return scalar.starts_with(of_training) ? !session_.validation().empty()
                                           : has_set_of(session_.validation(), config_, scalar);
  }

  // A run goes on without its graph, as it does without lines of metrics.
  void write_graph(const Drawing& drawing) const try {
    RunShape shape{epoch(), run_plan_.last, session_.train().batch, validation_metrics(config_)};
    for (auto& rule : BestRule::all(config_)) shape.best.emplace_back(rule.link, rule.of);
    write_file_atomically(std::filesystem::path(options_.folder) / "graph.json", graph_json(drawing, shape));
  } catch (const FolderLost&) {
    throw;
  } catch (const UserError& error) {
    log_warn(concat(error.what(), "; the run goes on"));
  }

  const Config& config_;
  const RunOptions options_;
  RunState state_;
  Hooks hooks_;
  std::optional<Profile> profile_{std::in_place};  // It has details with --profile.
  const TextSamples texts_{config_, seed_of(config_)};
  Session session_;
  RunPlan run_plan_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<ValidationReplica> replica_;  // a copy of the learner; null if validation is inline
  std::string record_;
  Rankings rankings_;
};

void set_grace(Interrupt& interrupt, const Config& config) {
  interrupt.set_grace(std::chrono::duration<double>(*config.run().grace_seconds));
}

int exit_code(const TrainerResult& result) {
  if (result.error) std::rethrow_exception(result.error);
  return result.signal ? Interrupt::exit_code(*result.signal) : 0;
}

// Gives the weights of rank 0 to all: those of the snapshot that rank 0 has opened, or of net.pretrain. A collective.
void load_first_weights(Run& run, const Start& start, std::optional<OpenSnapshot>& snapshot, Group& group,
                        Interrupt& interrupt) {
  if (!start.snapshot) return load_pretrained(run.learner(), start.config.table("net"), group, &interrupt);
  const bool others_fit = group.ask_leader("whether the run's other snapshots fit", [&] {
    const bool fit = load_tensors(*snapshot, start.config, run.learner());
    log_info(concat("going on after iteration ", snapshot->iteration, ", from ", start.snapshot->string()));
    return fit ? "1" : "";
  }) == "1";
  if (snapshot) warn_of_hooks(run.hooks(), run.state(), start.config);
  snapshot.reset();
  if (!others_fit) run.forget_snapshots();
}

// Waits for the snapshots, and writes result.json and the summary. `snapshots` may be null.
void finish_files(const Run& run, const Start& start, SnapshotBranch* snapshots) {
  const bool written = !snapshots || snapshots->finish();
  if (snapshots) snapshots->check();
  if (start.folder) {
    write_file_atomically(start.folder->path() / "result.json", without_secrets(run.record()));
    for (auto& line : summary_lines(start.folder->path(), BestRule::all(start.config), run.rankings())) log_info(line);
  }
  if (!written)
    throw UserError(ExitCode::snapshot, "the last snapshot could not be written (the reason is above)",
                    "make room, then --resume auto goes on from the one before");
}

}  // namespace

int run_training(const Start& start, const RunOptions& options, const MakeLearner& make_learner, Interrupt& interrupt) {
  set_grace(interrupt, start.config);
  Group& group = *options.group;
  std::optional<OpenSnapshot> snapshot;
  if (start.snapshot && group.leads()) snapshot.emplace(open_verified(*start.snapshot));
  RunState state = initial_state(start, snapshot, group);
  for (auto& change : forget_other_metrics(BestRule::all(start.config), state.validations.best))
    if (group.leads()) log_info(change);
  const RunInputs before = state.inputs;

  FailedStart failed(start, interrupt);
  RunOptions named = options;
  named.folder = start.path.string();
  named.keeps_split = group.leads();
  Run run(start.config, named, std::move(state));
  run.check_inputs(before, start.accept_changes);
  run.make_learner(make_learner);
  load_first_weights(run, start, snapshot, group, interrupt);
  run.learner().share_state();
  if (!options.in_memory) interrupt.defer();  // There is something to save now.
  failed.succeeded();

  flight_iteration(run.state().iteration);
  if (start.resumed && start.folder) {
    // The start has succeeded, so an accepted change stays accepted. Without a further iteration, nothing has changed.
    if (run.has_work()) write_config(start.folder->config_file(), to_toml(start.config));
    rewind_snapshots(start.folder->snapshots(), run.state());
  }
  std::optional<Journals> journals;
  if (start.folder) journals.emplace(start, run.state());
  MetricsFile* metrics = journals ? &journals->metrics() : nullptr;
  std::optional<HashJournal> journal;
  if (run.has_journal()) journal.emplace(start.folder ? start.folder->path() : std::filesystem::path(), group);
  std::optional<SnapshotBranch> snapshots;  // A run in memory keeps nothing.
  if (!options.in_memory) snapshots.emplace(snapshot_policy(start, run.epoch()), metrics, group);
  if (snapshots && (options.initialize || (rolls_back(start.config) && !start.snapshot)))
    snapshots->save(run.learner(), run.state());
  if (options.initialize) {
    if (!snapshots->finish()) throw UserError(ExitCode::snapshot, "the initial parameters could not be written");
    return 0;
  }

  std::unique_ptr<RunPage> report;  // It writes its last page after everything else.
  if (start.folder && options.make_page && start.config.table("display").boolean("report"))
    report = options.make_page(start.folder->path());
  try {
    if (group.leads()) run.announce();
    const TrainerResult result = run.train(metrics, journals ? &journals->bad_samples() : nullptr,
                                           snapshots ? &*snapshots : nullptr, journal ? &*journal : nullptr, interrupt);
    finish_files(run, start, snapshots ? &*snapshots : nullptr);
    if (result.signal && start.folder)
      log_info("to go on: " + resume_command(command_line_words(), start.folder->path(), group.size()));
    return exit_code(result);
  } catch (const std::exception& error) {
    if (report) report->failed(error.what());
    throw;
  }
}

int run_without_traces(const Config& config, const RunOptions& options, const MakeLearner& make_learner,
                       Interrupt& interrupt, const LastHook& last_hook) {
  set_grace(interrupt, config);
  Run run(config, options, RunState());
  run.make_learner(make_learner);
  constexpr auto last = std::numeric_limits<std::int64_t>::max();
  if (last_hook.hook) run.hooks().add(last_hook.hook, last_hook.label, last);
  if (!options.dry_run) load_pretrained(run.learner(), config.table("net"), *options.group, &interrupt);
  run.learner().share_state();
  if (options.announces && options.group->leads()) run.announce();
  interrupt.defer();  // A signal ends the run in order, so that it logs what it has measured.
  return exit_code(run.train(nullptr, nullptr, nullptr, nullptr, interrupt));
}

}  // namespace flowtrain
