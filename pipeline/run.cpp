#include "pipeline/run.h"

#include <cmath>
#include <memory>
#include <thread>

#include "pipeline/advice.h"
#include "pipeline/assembly.h"
#include "pipeline/config/words.h"
#include "pipeline/ledger.h"
#include "pipeline/pretrain.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/telemetry/format.h"
#include "pipeline/telemetry/interrupt.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/trainer.h"
#include "sampling/distant.h"
#include "stages/evaluation/figures.h"

namespace flowtrain {

namespace {

// All that a run consists of, at addresses that stay. Members are torn down in reverse: lines before what they read.
class Run {
 public:
  Run(const Config& config, const RunOptions& options, RunState state)
      : config_(config), options_(options), state_(std::move(state)),
        device_(choose_device(config, options.local_rank, options.processes_here)), train_(open_data(config, true, device_, portion())) {
    check_resumed_data();
    if (validates()) open_validation_data();
    if (val_) choose_detection_metrics();
    schedule_ = make_schedule(config, train_.batches, state_.iteration + 1, val_ != nullptr);
    schedule_.validate_first = state_.validation_pending && val_;
    scheduler_ = std::make_unique<Scheduler>(train_.workers + (val_ ? val_->workers : 0));
    line_ = std::make_unique<Line>(line_parts("train", train_, config, schedule_.tickets()));
    if (val_) val_line_ = std::make_unique<Line>(line_parts("val", *val_, config, endless_batches(state_.validation_batches)));
  }

  void make_learner(const MakeLearner& make) {
    if (options_.dry_run) {
      learner_ = std::make_unique<IdleLearner>();
      return;
    }
    const auto classes = train_.dataset->classes();
    LearnerSpec spec{config_.table("net"), config_.table("loss"), config_.table("optim"), config_.table("train"),
                     config_.table("run"), config_.table("val"), line_->layout()};
    spec.val_layout = val_line_ ? &val_line_->layout() : nullptr;
    spec.classes = static_cast<std::int64_t>(classes.size());
    spec.device = device_;
    spec.seed = seed_of(config_);
    spec.mode = options_.mode;
    spec.mixing = mixing_of(config_);
    spec.processes_here = options_.processes_here;
    spec.sampler = &config_.table("sampler");
    spec.detect = &config_.table("detect");
    spec.dist = &config_.table("dist");
    spec.group = options_.group;
    learner_ = make(spec);
  }

  void announce() const {
    log_info(say("data: ", format_count(train_.dataset->size()), " samples in ", train_.dataset->classes().size(), " classes",
                 val_ ? say(", ", format_count(val_->dataset->size()), " for validation") : "", "; ",
                 format_count(train_.batches.per_epoch()), " batches of ", train_.batch, " an epoch"));
    log_info(say("device: ", device_, "; ", train_.workers, " workers; iterations ", schedule_.first, " to ", schedule_.last));
    if (schedule_.first > schedule_.last) log_info("nothing is left to do; --max-iter sets the length of a run");
  }

  TrainerResult train(MetricsFile* metrics, JsonLinesFile* ledger, SnapshotBranch* snapshots,
                      const Interrupt& interrupt) {
    BadSamples bad = make_ledger(config_, true, *train_.dataset, ledger, options_.group->leads());
    std::optional<BadSamples> bad_validation;
    if (val_) bad_validation.emplace(make_ledger(config_, false, *val_->dataset, ledger, options_.group->leads()));
    Display display(options_.progress, schedule_.last, metrics);
    TrainerParts parts{schedule_, *line_};
    parts.validation = val_line_.get();
    parts.validation_batches = validation_batches();
    if (auto& names = config_.table("val").texts("metrics"); !names.empty()) parts.ruling_metric = names.front();
    parts.detection = detection_ ? &*detection_ : nullptr;
    parts.keep_best = static_cast<std::size_t>(config_.table("snapshot").integer("keep_best"));
    parts.learner = learner_.get();
    parts.group = options_.group;
    parts.bad_samples = &bad;
    parts.bad_validation_samples = bad_validation ? &*bad_validation : nullptr;
    parts.display = &display;
    parts.snapshots = snapshots;
    parts.interrupt = &interrupt;
    std::optional<Tuner> tuner;
    if (train_.tunes) tuner.emplace(Tuning{line_->shape(), train_.tunes->most_threads}, *train_.tunes);
    parts.tuner = tuner ? &*tuner : nullptr;
    parts.nonfinite = NonFinitePolicy::from(config_.table("train"));
    parts.display_every = period(config_.table("display"), "every").to_iterations(iterations_per_epoch(config_, train_.batches));
    Trainer trainer(parts, std::move(state_));
    const TrainerResult result = trainer.run();
    display.finish();
    summarise(result, trainer.state());
    if (const auto retries = this->retries(); retries > 0) {
      log_info(say("requests to servers that had to be repeated: ", retries));
      if (metrics) metrics->write("retries", {{"iter", result.iteration}, {"requests", retries}});
    }
    if (result.signal) return result;
    const std::string params = common_params_xxh64();
    if (metrics)
      metrics->write("end", {{"iter", result.iteration},
                             {"params_xxh64", params},
                             {"order_xxh64", trainer.state().order.hex()}});
    return result;
  }

  Learner& learner() { return *learner_; }
  std::uint64_t samples_per_epoch() const { return train_.dataset->size(); }
  const RunState& state() const { return state_; }

  Drawing drawing() const {
    Drawing drawing = line_->drawing();
    auto branch = [&](const std::string& name, const std::string& label, const std::string& edge, bool thread) {
      drawing.nodes.push_back({name, label, thread});
      drawing.edges.push_back({"compute", name, edge});
    };
    branch("learning_rate", "learning rate\nstepwise decay", "control ticket", false);
    branch("display", "display\nbar, log, metrics.jsonl", "queue of 64 events", true);
    branch("snapshot", "snapshot\nwrite, fsync, rename", "one staging copy", true);
    if (!val_line_) return drawing;
    for (auto& node : val_line_->drawing().nodes)
      if (node.name != "compute") drawing.nodes.push_back({"val " + node.name, "validation: " + node.label, node.thread});
    drawing.nodes.push_back({"val compute", "validate\neval mode", false});
    for (auto& edge : val_line_->drawing().edges) drawing.edges.push_back({"val " + edge.from, "val " + edge.to, edge.label});
    drawing.edges.push_back({"compute", "val compute", "control ticket"});
    return drawing;
  }

 private:
  // Every process has the same parameters, bit by bit, or the training was none.
  std::string common_params_xxh64() const {
    const std::string own = params_xxh64(*learner_);
    if (options_.group->broadcast(own) != own)
      throw InternalError("rank " + std::to_string(options_.group->rank()) + " ended with other parameters than rank 0");
    return own;
  }

  Portion portion() const {
    const Group& group = *options_.group;
    return {{static_cast<std::uint64_t>(group.rank()), static_cast<std::uint64_t>(group.size())}, options_.processes_here};
  }

  void open_validation_data() {
    try {
      val_ = std::make_unique<DataParts>(open_data(config_, false, device_, portion()));
    } catch (const EmptyDataset& empty) {
      if (options_.group->leads()) log_warn(say("no validation: ", empty.what()));
    }
  }

  void choose_detection_metrics() {
    DetectionMetrics metrics{*val_->dataset, {}};
    for (auto& name : config_.table("val").texts("metrics"))
      if (is_detection_figure(name)) metrics.names.push_back(name);
    if (metrics.names.empty()) return;
    if (val_->dataset->classes() != train_.dataset->classes())
      throw UserError(Exit::data, say("val.metrics: ", metrics.names.front(), " cannot be measured: the validation data have other ",
                                      "classes than the training data"),
                      "voc: data.class_names names them for both");
    detection_.emplace(std::move(metrics));
  }

  std::uint64_t retries() const {
    std::uint64_t sum = 0;
    for (const auto* data : {&train_, static_cast<const DataParts*>(val_.get())})
      if (const auto* distant = data ? dynamic_cast<const Distant*>(data->dataset.get()) : nullptr)
        sum += distant->retries();
    return sum;
  }

  bool validates() const {
    return !options_.dry_run && options_.mode == TrainMode::full && !period(config_.table("val"), "every").off();
  }

  std::uint64_t validation_batches() const {
    if (!val_) return 0;
    const auto wished = static_cast<std::uint64_t>(config_.table("val").integer("batches"));
    return wished > 0 ? wished : val_->batches.per_epoch();
  }

  void check_resumed_data() {
    if (options_.group->leads() && state_.iteration > 0 && state_.samples_per_epoch != train_.dataset->size())
      log_warn(say("the data set has ", train_.dataset->size(), " samples; when the snapshot was made it had ",
                   state_.samples_per_epoch, ": the order of samples is not the one that it would have been"));
    state_.samples_per_epoch = train_.dataset->size();
  }

  void summarise(const TrainerResult& result, const RunState& state) const {
    const std::uint64_t done = result.iteration + 1 - schedule_.first;
    if (done == 0 && result.signal) log_info(say("interrupted before iteration ", schedule_.first, " was done"));
    if (done == 0) return;
    log_info(say(result.signal ? "interrupted after" : "done:", " iteration ", result.iteration, " (", format_count(done), " in ",
                 format_duration(result.wall_s), ")"));
    log_info(waiting_advice({line_->times(), result.wall_s, result.wait_s, train_.workers, train_.readers,
                             std::max(1u, std::thread::hardware_concurrency())}));
    if (options_.dry_run) log_info("order_xxh64 " + state.order.hex());
  }

  const Config& config_;
  RunOptions options_;
  RunState state_;
  std::string device_;
  DataParts train_;
  std::unique_ptr<DataParts> val_;
  std::optional<DetectionMetrics> detection_;
  Schedule schedule_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Line> line_, val_line_;
  std::unique_ptr<Learner> learner_;
};

// A fresh start that fails before it trains (data that is not there, a net that does not fit) leaves no folder behind.
class FailedStart {
 public:
  explicit FailedStart(const Start& start) : start_(start) {}
  ~FailedStart() {
    if (!done_ && !start_.resumed && start_.folder) start_.folder->discard();
  }
  void succeeded() { done_ = true; }

 private:
  const Start& start_;
  bool done_ = false;
};

void set_grace(Interrupt& interrupt, const Config& config) {
  interrupt.set_grace(std::chrono::duration<double>(config.table("run").real("grace")));
}

// Parts that a snapshot was made without begin anew, if that was asked for.
void check_parts(const RunState& state, const Start& start) {
  std::string missing;
  for (auto& part : RunState::parts())
    if (!state.has_saved(part)) missing += (missing.empty() ? "" : ", ") + part;
  if (missing.empty()) return;
  const auto what = say(start.snapshot->string(), " was made without: ", missing, " (snapshot.save)");
  if (!start.accept_changes)
    throw UserError(Exit::snapshot, what, "--accept-changes goes on all the same, and begins these anew");
  log_warn(what + "; these begin anew");
}

// Rank 0's, for all.
RunState initial_state(const Start& start, const std::optional<OpenSnapshot>& snapshot, Group& group) {
  RunState state;
  if (snapshot) {
    state = RunState::from_json(snapshot->state_json);
    check_parts(state, start);
    if (state.world != group.size())
      log_info(say("processes now: ", group.size(), "; when the snapshot was made: ", state.world));
  }
  if (group.size() > 1) state = RunState::from_json(group.broadcast(group.leads() ? state.to_json() : ""));
  state.saved = start.config.table("snapshot").texts("save");
  state.world = group.size();
  return state;
}

int exit_code(const TrainerResult& result) { return result.signal ? Interrupt::exit_code(*result.signal) : 0; }

// Makes the folder look as it did when the snapshot was taken.
void take_over(const std::filesystem::path& snapshots, const RunState& state) {
  for (auto& path : set_aside_newer(snapshots, state.iteration)) log_info("set aside: " + path.string());
  if (!state.best.empty() && std::filesystem::exists(snapshots / snapshot_name(state.best.front().iteration)))
    mark_best(snapshots, state.best.front().iteration);
}

std::unique_ptr<SnapshotBranch> snapshot_branch(const Start& start, MetricsFile& metrics) {
  const Settings& snapshot = start.config.table("snapshot");
  SnapshotPolicy policy;
  policy.folder = start.folder->snapshots();
  policy.keep_last = static_cast<std::size_t>(snapshot.integer("keep_last"));
  policy.keep_best = static_cast<std::size_t>(snapshot.integer("keep_best"));
  policy.keep_every = static_cast<std::uint64_t>(snapshot.integer("keep_every"));
  policy.skip_when_busy = snapshot.text("when_busy") == "skip";
  policy.stop_on_error = snapshot.text("on_error") == "stop";
  policy.config_toml = to_toml(start.config);
  return std::make_unique<SnapshotBranch>(std::move(policy), &metrics);
}

}  // namespace

int run_training(const Start& start, const RunOptions& options, const MakeLearner& make_learner, Interrupt& interrupt) {
  set_grace(interrupt, start.config);
  std::optional<OpenSnapshot> snapshot;
  if (start.snapshot) snapshot.emplace(open_verified(*start.snapshot));
  RunState state = initial_state(start, snapshot, *options.group);
  const std::uint64_t from = state.iteration;

  FailedStart failed(start);
  Run run(start.config, options, std::move(state));
  run.make_learner(make_learner);
  if (snapshot) {
    run.learner().load_state(read_tensors(*snapshot));
    snapshot.reset();
    log_info(say("going on after iteration ", from, ", from ", start.snapshot->string()));
  } else if (options.group->leads()) {
    load_pretrained(run.learner(), start.config.table("net"));
  }
  run.learner().share_state();
  failed.succeeded();
  if (!start.folder) {
    if (options.initialize) return 0;
    return exit_code(run.train(nullptr, nullptr, nullptr, interrupt));
  }

  if (start.resumed) take_over(start.folder->snapshots(), run.state());

  const auto metrics_path = start.folder->path() / "metrics.jsonl";
  const auto ledger_path = start.folder->path() / "bad_samples.jsonl";
  if (start.resumed)
    for (auto& path : {metrics_path, ledger_path}) cut_back(path, from);
  MetricsFile metrics(metrics_path);
  JsonLinesFile ledger(ledger_path);
  if (start.resumed) metrics.write("resume", {{"iter", from}});
  auto snapshots = snapshot_branch(start, metrics);
  const bool goes_back = NonFinitePolicy::from(start.config.table("train")).action == NonFinitePolicy::Action::rollback;
  if (options.initialize || (goes_back && !start.snapshot)) snapshots->take(run.learner(), run.state(), SnapshotReason::end);
  if (options.initialize) {
    if (!snapshots->finish()) throw UserError(Exit::snapshot, "the initial parameters could not be written");
    return 0;
  }

  run.announce();
  const TrainerResult result = run.train(&metrics, &ledger, snapshots.get(), interrupt);
  const bool written = snapshots->finish();
  snapshots->check();
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
  run.announce();
  return exit_code(run.train(nullptr, nullptr, nullptr, interrupt));
}

std::string draw_graph(const Config& config) { return to_dot(Run(config, {}, {}).drawing(), config.name()); }

}  // namespace flowtrain
