#include "pipeline/engine/session/run.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <limits>
#include <memory>

#include "pipeline/base/config/idle_keys.h"
#include "pipeline/base/config/run_folder.h"
#include "pipeline/base/errors/leaders_work.h"
#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/snapshot_files.h"
#include "pipeline/base/telemetry/environment.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/graph_json.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/base/values/periods.h"
#include "pipeline/engine/memory/auto_batch.h"
#include "pipeline/engine/pictures/picture_folder.h"
#include "pipeline/engine/report/describe_net.h"
#include "pipeline/engine/report/profile_report.h"
#include "pipeline/engine/report/result_record.h"
#include "pipeline/engine/report/run_verdict.h"
#include "pipeline/engine/report/summary.h"
#include "pipeline/engine/session/bad_sample_log.h"
#include "pipeline/engine/session/fingerprints.h"
#include "pipeline/engine/session/meters.h"
#include "pipeline/engine/session/pixel_form.h"
#include "pipeline/engine/session/pretrain.h"
#include "pipeline/engine/session/resume.h"
#include "pipeline/engine/session/resume_command.h"
#include "pipeline/engine/session/run_graph.h"
#include "pipeline/engine/session/sample_choice.h"
#include "pipeline/engine/train/hash_journal.h"
#include "pipeline/engine/train/trainer.h"
#include "sampling/core/secrets.h"
#include "sampling/core/settings.h"
#include "sampling/io/held_folder.h"
#include "sampling/io/text_lines.h"

namespace flowtrain {

namespace {

// A session that trains. Members are torn down in reverse: the loader before what it reads.
class Run {
 public:
  Run(const Config& config, const RunOptions& options, RunState state)
      : config_(config), options_(options), state_(std::move(state)), session_(config, options) {
    for (const char* table : {"train", "val"}) errors_of(table);  // refuses what cannot be, before data is opened
    state_.samples_per_epoch = session_.open_training().dataset->size();
    state_.classes = session_.classes();
    state_.pixels = pixel_form(*session_.train().dataset);
    check_split(*session_.train().dataset, *options_.group);
    session_.open_validation();
    if (options_.group->leads()) warn_of_same_samples(*session_.train().dataset, session_.validation());
    run_plan_ = session_.run_plan(state_.iteration + 1);
    if (options_.folder.empty()) run_plan_.hash_every = {};  // there is no verify.jsonl
    run_plan_.validate_first = state_.validation_pending && !session_.validation().empty();
    session_.prepare();
    if (options_.profile) {
      profile_.emplace(run_plan_.first, run_plan_.last);
      profile_->time_streams(*session_.train().device);
    }
    Profile* of_loaders = options_.profile ? &*profile_ : nullptr;
    loader_ = session_.make_training_loader(run_plan_, of_loaders);
    session_.make_validation_loaders(state_.validation, of_loaders);
    log_debug("the data is open");
  }

  void make_learner(const MakeLearner& make) {
    learner_ = session_.make_learner(make, loader_->layout(), &hooks_, &*profile_);
    if (session_.overlaps()) net_copy_ = learner_->make_replica();
    log_debug("the net is made");
  }

  void announce() const {
    const DataParts& train = session_.train();
    const bool several = !train.sources.empty();
    log_info(
        concat("data: ", several ? describe_shares(train.sources) : format_count(train.dataset->size()) + " samples",
               " in ", train.dataset->classes().size(), " classes", describe_sizes(session_.validation()), "; ",
               several ? "an epoch = " : "", format_count(train.batches.per_epoch()), " batches of ", train.batch,
               several ? concat(" (", epoch_end_of(config_), ")") : " an epoch"));
    log_info(concat("device: ", session_.device(), "; ", train.workers, train.workers == 1 ? " worker" : " workers",
                    "; iterations ", run_plan_.first, " to ", run_plan_.last));
    if (!options_.dry_run) log_info("net: " + describe_net(config_.table("net"), learner_->net_summary()));
    // Listing runs two forward passes, so only the first process of a fresh start writes the list to train.log.
    auto* const lister = dynamic_cast<LayerLister*>(learner_.get());
    if (lister && options_.group->leads() && run_plan_.first == 1 && !options_.dry_run) {
      const std::string layers = describe_layers(lister->list_layers());
      for (auto& line : text_lines(layers, "layers")) log_debug(concat("net: ", line));
    }
    tell_left_open_batch(config_);
    for (auto& note : schedule_notes(config_, session_.epoch(), run_plan_.last)) log_info("note: " + note);
    for (auto& note : idle_keys(config_)) log_info("note: " + note);
    if (run_plan_.first > run_plan_.last) log_info("nothing is left to do; --max-iter sets the length of a run");
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
    std::deque<std::optional<SampleChoice>> shown;  // at addresses that stay
    Meters meters;
    if (metrics) {
      meters = make_meters(session_.device(), *config_.train().amp);
      const Settings& display = config_.table("display");
      if (display.boolean("tensorboard")) parts.histograms_every = period(display, "histograms").to_iterations(epoch());
    }
    parts.machine = meters.machine.get();
    parts.peak_flops = meters.peak_flops;
    for (auto& set : session_.validation()) {
      set->bad.emplace(make_bad_sample_log(set->config, false, *set->data.dataset, bad_sample_log, is_leader));
      parts.validation.push_back({set->name, *set->loader, set->batches(), *set->bad,
                                  set->detection ? &*set->detection : nullptr,
                                  shown.emplace_back(sample_choice(*set)) ? &*shown.back() : nullptr});
    }
    std::optional<OverlappedValidation> beside;
    if (net_copy_) beside.emplace(parts.validation, &interrupt, parts.val_errors.action);
    const Drawing graph = wire_run(session_, *loader_, parts, loggers, snapshots, beside ? &*beside : nullptr);
    if (metrics) write_graph(graph);
    for (auto& each : loggers) each.logger->begin(graph);
    parts.bad_samples = &bad;
    parts.interrupt = &interrupt;
    parts.journal = journal;
    parts.tuner = tuner ? &*tuner : nullptr;
    Trainer trainer(parts, std::move(state_));
    TrainerResult result = trainer.run();
    for (auto& each : loggers) each.logger->finish();
    summarise(result, trainer.state(), interrupt, metrics, meters.machine ? meters.machine->cpu() : CpuTime());
    if (options_.profile) tell_profile(*profile_, *options_.group, metrics, result.iteration);
    tell_retries(metrics, result.iteration);
    conclude(result, trainer.state(), parts.best, snapshots, metrics);
    return result;
  }

  // What the results depend on beside the configuration: held against what the snapshot says, and kept for those to
  // come. It is rank 0 that writes them.
  void settle_basis(const Basis& before, bool accepted) {
    let_leader_work(*options_.group, "the reading of files that results depend on", [&] {
      state_.fingerprints = fingerprints_of(config_, *session_.train().dataset, session_.validation());
    });
    if (options_.group->leads()) check_basis(before, basis_of(state_), config_, accepted);
  }

  /// The net cannot load the snapshots that there are: no rollback goes back to them, none of them is the best, and no
  /// interrupted validation begins with one again.
  void forget_snapshots() {
    state_.rollback_targets.clear();
    state_.best.clear();
    if (state_.pending && !state_.pending->scalars) state_.pending.reset();
    if (!options_.group->leads()) return;
    log_info("the earlier snapshots are of a net with other tensors: none of them counts as the best any more");
    std::error_code ignored;
    for (auto& rule : BestRule::all(config_))
      std::filesystem::remove(std::filesystem::path(options_.folder) / "snapshots" / rule.link, ignored);
  }

  bool has_journal() const { return !run_plan_.hash_every.off(); }
  Learner& learner() { return *learner_; }
  Hooks& hooks() { return hooks_; }
  Every epoch() const { return session_.epoch(); }
  /// After train(): result.json's.
  const std::string& record() const { return record_; }
  const RunState& state() const { return state_; }
  /// After train(): the validations that the rules of the best ranked.
  const Rankings& rankings() const { return rankings_; }

 private:
  // What follows from the configuration alone.
  TrainerParts trainer_parts() {
    TrainerParts parts{run_plan_, *loader_};
    parts.best = BestRule::all(config_);
    parts.learner = learner_.get();
    parts.validation_replica = net_copy_.get();
    parts.averages = validates_average(config_);
    parts.group = options_.group;
    parts.nonfinite = NonFinitePolicy::from(config_.train());
    parts.nonfinite.targets =
        std::min<std::size_t>(parts.nonfinite.most, static_cast<std::size_t>(*config_.snapshot().keep_last));
    if (!options_.folder.empty()) parts.nonfinite.run = options_.folder;
    parts.profile = &*profile_;
    parts.train_errors = ErrorPolicy::from(config_.train(), config_.table("dist"), options_.group->size());
    parts.val_errors = ErrorPolicy::from(config_.val());
    parts.early_stop = EarlyStop::from(config_);
    parts.snapshot_every_s = period(config_.snapshot().every, true).seconds();
    const auto measures = [this](const std::string& scalar) {
      return scalar.starts_with(of_training) ? !session_.validation().empty()
                                             : has_set_of(session_.validation(), config_, scalar);
    };
    parts.schedules = stateful_schedules(config_, epoch(), run_plan_.last, measures);
    // A metric without a validation set must not trigger early stopping.
    if (!measures(parts.early_stop.improvement.of.name)) parts.early_stop.patience = 0;
    parts.hooks = &hooks_;
    parts.epoch = epoch();
    parts.display_every = period(config_.table("display"), "every").to_iterations(epoch());
    return parts;
  }

  // The run goes on without, as it does without lines of metrics.
  void write_graph(const Drawing& drawing) const try {
    RunShape shape{epoch(), run_plan_.last, session_.train().batch, validation_metrics(config_)};
    for (auto& rule : BestRule::all(config_)) shape.best.emplace_back(rule.link, rule.of);
    write_file_atomically(std::filesystem::path(options_.folder) / "graph.json", graph_json(drawing, shape));
  } catch (const FolderLost&) {
    throw;
  } catch (const UserError& error) {
    log_warn(concat(error.what(), "; the run goes on"));
  }

  void tell_retries(MetricsFile* metrics, std::uint64_t iteration) const {
    const auto retries = session_.retries();
    if (retries == 0) return;
    log_info(concat("requests to servers that had to be repeated: ", retries));
    if (metrics) metrics->write("retries", {{"iter", iteration}, {"requests", retries}});
  }

  // The weights that the run ends with, and its last words.
  void conclude(const TrainerResult& result, const RunState& state, const std::vector<BestRule>& rules,
                SnapshotBranch* snapshots, MetricsFile* metrics) {
    const auto* best = rules.front().best(state.best);
    const bool goes_back = *config_.snapshot().end_with_best && best && snapshots && !result.signal;
    if (goes_back) end_with(best->iteration, *snapshots);
    const std::string params = result.signal ? "" : common_params_xxh64();
    const std::uint64_t weights_of = goes_back ? best->iteration : result.iteration;
    rankings_ = state.best;
    record_ = result_record({result, state, rules, epoch(), params, weights_of, session_.train().batch});
    if (!metrics || result.signal) return;
    JsonObject fields{{"iter", result.iteration}, {"params_xxh64", params}, {"order_xxh64", state.order.hex()}};
    if (!result.stopped.empty()) fields["stopped"] = result.stopped;
    metrics->write("end", fields);
  }

  // The last snapshot has the last weights; the processes end with the best ones.
  void end_with(std::uint64_t best, SnapshotBranch& snapshots) {
    if (!snapshots.load(*learner_, {best}))
      throw UserError(
          ExitCode::snapshot,
          concat("the weights of iteration ", best, ", the best ones, cannot be had: its snapshot is gone, or damaged"),
          "snapshot.end_with_best = false ends with the last weights");
    if (options_.group->leads()) log_info(concat("the weights are those of iteration ", best, ", the best ones"));
  }

  // Every process has the same parameters, bit by bit, or the training was none.
  std::string common_params_xxh64() const {
    std::string own = params_xxh64(*learner_);
    if (options_.group->broadcast("the comparison of parameters", own) != own)
      throw InternalError("rank " + std::to_string(options_.group->rank()) +
                          " ended with other parameters than rank 0");
    return own;
  }

  void summarise(const TrainerResult& result, const RunState& state, const Interrupt& interrupt, MetricsFile* metrics,
                 const CpuTime& cpu) const {
    const std::uint64_t done = result.iteration + 1 - run_plan_.first;
    // In a group the result has no more than the kind of signal.
    const std::string signal = result.signal ? signal_name(interrupt.requested().value_or(*result.signal)) : "";
    if (!result.stopped.empty()) log_info("stopped early: " + result.stopped);
    if (done == 0 && result.signal)
      log_info(concat("interrupted before iteration ", run_plan_.first, " was done (", signal, ")"));
    if (done == 0) return;
    log_info(concat(result.signal ? "interrupted after" : "done:", " iteration ", result.iteration, " (", signal,
                    result.signal ? "; " : "", format_count(done), " in ", format_duration(result.wall_s), ")"));
    tell_verdict(result, metrics, cpu);
    if (options_.dry_run) log_info("order_xxh64 " + state.order.hex());
  }

  // After a signal no collective is called, and no line is written that a run that goes on would not have.
  void tell_verdict(const TrainerResult& result, MetricsFile* metrics, const CpuTime& cpu) const {
    RunVerdict verdict = run_verdict(result.load, result.signal ? solo_group() : *options_.group);
    if (verdict.text.empty()) return;
    if (cpu.is_short(result.wall_s)) verdict.text += "; " + describe_shortage(cpu);
    log_info("verdict: " + verdict.text);
    if (!metrics || result.signal) return;
    JsonObject fields{{"iter", result.iteration}, {"text", verdict.text}};
    fields.insert(verdict.fields.begin(), verdict.fields.end());
    metrics->write("verdict", fields);
  }

  const Config& config_;
  const RunOptions options_;
  RunState state_;
  Hooks hooks_;
  std::optional<Profile> profile_{std::in_place};  // has details with --profile
  Session session_;
  RunPlan run_plan_;
  std::unique_ptr<Loader> loader_;
  std::unique_ptr<Learner> learner_;
  std::unique_ptr<ValidationReplica> net_copy_;  // of the learner; null where validation is inline
  std::string record_;
  Rankings rankings_;
};

// A fresh start that fails before it trains (data that is not there, a net that does not fit) leaves no folder behind.
class FailedStart {
 public:
  FailedStart(const Start& start, Interrupt& interrupt) : start_(start), interrupt_(interrupt) {}
  ~FailedStart() {
    if (done_) return;
    if (!start_.resumed && start_.folder) start_.folder->discard()();
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
  interrupt.set_grace(std::chrono::duration<double>(*config.run().grace_seconds));
}

int exit_code(const TrainerResult& result) {
  if (result.error) std::rethrow_exception(result.error);
  return result.signal ? Interrupt::exit_code(*result.signal) : 0;
}

SnapshotPolicy snapshot_policy(const Start& start, const Every& epoch) {
  const SnapshotKeys snapshot = start.config.snapshot();
  SnapshotPolicy policy;
  if (start.folder) policy.folder = start.folder->snapshots();
  policy.keep_last = static_cast<std::size_t>(*snapshot.keep_last);
  policy.best = BestRule::all(start.config);
  policy.keep_every = period(snapshot.keep_every).to_iterations(epoch);
  // Where a rollback goes must not depend on how fast the disk is.
  policy.skip_when_busy = *snapshot.when_busy == "skip" && !rolls_back(start.config);
  policy.stop_on_error = *snapshot.on_error == "stop";
  policy.config_toml = to_toml(start.config);
  return policy;
}

// Rank 0's weights, which all get: a snapshot's, which rank 0 has opened, or those of net.pretrain. A collective.
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

// What rank 0 alone writes.
struct Journals {
  // Lines of iterations that a resumed run, whose state is `state`, does again are taken back.
  Journals(const Start& start, const RunState& state) {
    const auto metrics_path = start.folder->path() / "metrics.jsonl",
               bad_sample_log_path = start.folder->path() / "bad_samples.jsonl",
               hashes_path = start.folder->path() / hash_journal_name;
    if (start.resumed)
      for (auto& path : {metrics_path, bad_sample_log_path, hashes_path})
        cut_back(path, state.iteration, state.validates_again_from() - 1);
    if (start.resumed) remove_pictures_after(start.folder->path() / "pictures", state.validates_again_from() - 1);
    metrics.emplace(metrics_path);
    bad_sample_log.emplace(bad_sample_log_path);
    if (start.resumed) metrics->write("resume", {{"iter", state.iteration}});
  }

  std::optional<MetricsFile> metrics;
  std::optional<JsonLinesFile> bad_sample_log;
};

}  // namespace

int run_training(const Start& start, const RunOptions& options, const MakeLearner& make_learner, Interrupt& interrupt) {
  set_grace(interrupt, start.config);
  Group& group = *options.group;
  std::optional<OpenSnapshot> snapshot;
  if (start.snapshot && group.leads()) snapshot.emplace(open_verified(*start.snapshot));
  RunState state = initial_state(start, snapshot, group);
  for (auto& change : forget_other_metrics(BestRule::all(start.config), state.best))
    if (group.leads()) log_info(change);
  const Basis before = basis_of(state);

  FailedStart failed(start, interrupt);
  RunOptions named = options;
  named.folder = start.path.string();
  named.keeps_split = group.leads();
  Run run(start.config, named, std::move(state));
  run.settle_basis(before, start.accept_changes);
  run.make_learner(make_learner);
  load_first_weights(run, start, snapshot, group, interrupt);
  run.learner().share_state();
  if (!options.in_memory) interrupt.defer();  // from here on there is something to save
  failed.succeeded();

  if (start.resumed && start.folder) {
    // The start has succeeded by now, so that a change that was accepted stays accepted.
    write_config(start.folder->config_file(), to_toml(start.config));
    take_over(start.folder->snapshots(), run.state());
  }
  std::optional<Journals> journals;
  if (start.folder) journals.emplace(start, run.state());
  MetricsFile* metrics = journals ? &*journals->metrics : nullptr;
  std::optional<HashJournal> journal;
  if (run.has_journal()) journal.emplace(start.folder ? start.folder->path() : std::filesystem::path(), group);
  std::optional<SnapshotBranch> snapshots;  // nothing of a run in memory is kept
  if (!options.in_memory) snapshots.emplace(snapshot_policy(start, run.epoch()), metrics, group);
  if (snapshots && (options.initialize || (rolls_back(start.config) && !start.snapshot)))
    snapshots->save(run.learner(), run.state());
  if (options.initialize) {
    if (!snapshots->finish()) throw UserError(ExitCode::snapshot, "the initial parameters could not be written");
    return 0;
  }

  std::unique_ptr<RunPage> report;  // its last page is written when everything else is
  if (start.folder && options.make_page && start.config.table("display").boolean("report"))
    report = options.make_page(start.folder->path());
  try {
    if (group.leads()) run.announce();
    const TrainerResult result = run.train(metrics, journals ? &*journals->bad_sample_log : nullptr,
                                           snapshots ? &*snapshots : nullptr, journal ? &*journal : nullptr, interrupt);
    const bool written = !snapshots || snapshots->finish();
    if (snapshots) snapshots->check();
    if (start.folder) {
      write_file_atomically(start.folder->path() / "result.json", without_secrets(run.record()));
      for (auto& line : summary_lines(start.folder->path(), BestRule::all(start.config), run.rankings()))
        log_info(line);
    }
    if (!written)
      throw UserError(ExitCode::snapshot, "the last snapshot could not be written (the reason is above)",
                      "make room, then --resume auto goes on from the one before");
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
  Run run(config, options, {});
  run.make_learner(make_learner);
  constexpr auto last = std::numeric_limits<std::int64_t>::max();
  if (last_hook.hook) run.hooks().add(last_hook.hook, last_hook.label, last);
  if (!options.dry_run) load_pretrained(run.learner(), config.table("net"), *options.group, &interrupt);
  run.learner().share_state();
  if (options.announces && options.group->leads()) run.announce();
  interrupt.defer();  // what was measured so far is told at the end
  return exit_code(run.train(nullptr, nullptr, nullptr, nullptr, interrupt));
}

}  // namespace flowtrain
