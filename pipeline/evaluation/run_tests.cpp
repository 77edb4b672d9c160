#include "pipeline/evaluation/run_tests.h"

#include <algorithm>
#include <exception>
#include <nlohmann/json.hpp>
#include <set>

#include "pipeline/config/inference_settings.h"
#include "pipeline/config/run_folder.h"
#include "pipeline/evaluation/agree_on_error.h"
#include "pipeline/evaluation/part_files.h"
#include "pipeline/evaluation/part_inputs.h"
#include "pipeline/evaluation/summary.h"
#include "pipeline/evaluation/test_sets.h"
#include "pipeline/session/leaders_work.h"
#include "pipeline/session/start.h"
#include "pipeline/snapshot/atomic_folder.h"
#include "pipeline/snapshot/manifest.h"
#include "pipeline/telemetry/interrupt.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/train/policies.h"
#include "pipeline/train/run_state.h"
#include "pipeline/train/snapshot_branch.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct TestedSnapshot {
  fs::path path;  // as it was named
  std::uint64_t iteration = 0;
  fs::path folder;  // RUN/test/NAME, of its own run
};

// The run that the subject is, or else the newest one of its name.
std::vector<ChosenSnapshot> choose(const TestSubject& subject, const Config& config) {
  if (subject.snapshot) return {{*subject.snapshot}};
  auto run = as_run_folder(subject.start.config);
  if (!run) run = newest_run(config.table("run").text("dir"), config.name());
  if (!run && !subject.snapshots.snapshots.empty() && subject.snapshots.iterations.empty()) {
    std::vector<ChosenSnapshot> named;
    for (auto& path : subject.snapshots.snapshots) named.push_back({path});
    return named;
  }
  if (!run)
    throw UserError(ExitCode::snapshot,
                    concat("there is no run called '", config.name(), "' in ", config.table("run").text("dir")),
                    "train first, or name one: --snapshot PATH");
  return test_snapshots(*run / "snapshots", subject.snapshots);
}

fs::path test_folder(const fs::path& snapshot, const std::string& name) {
  const fs::path folder = fs::canonical(snapshot).parent_path().parent_path() / "test";
  return name.empty() ? folder : folder / name;
}

std::string part_name(std::uint64_t iteration, const std::string& set, const std::string& setting) {
  return concat(snapshot_name(iteration), set.empty() ? "" : ".", set, setting.empty() ? "" : "+", setting);
}

// What kills have left half written.
void remove_leftovers(const fs::path& folder) {
  if (!fs::is_directory(folder)) return;
  for (auto& name : names_in(folder))
    if (is_leftover(name)) remove_quietly(folder / name);
}

// Rank 0 finds and reads them; the others need not see the disk.
std::vector<TestedSnapshot> find_snapshots(const TestSubject& subject, const TestOptions& options,
                                           const Config& config) {
  Group& group = *options.group;
  json found = json::array();
  together(group, "the choice of snapshots", [&] {
    if (!group.leads()) return;
    for (auto& [path, why] : choose(subject, config)) {
      log_info(concat("snapshot ", fs::weakly_canonical(path).string(), why.empty() ? "" : concat(": ", why)));
      const fs::path folder = test_folder(path, options.name);
      remove_leftovers(folder);
      found.push_back({path.string(), read_manifest(path).iteration, folder.string()});
    }
  });
  std::vector<TestedSnapshot> snapshots;
  for (auto& each : json::parse(group.broadcast("the chosen snapshots", found.dump())))
    snapshots.push_back({each[0].get<std::string>(), each[1], each[2].get<std::string>()});
  return snapshots;
}

/// A configuration's data and net, for snapshots of nets that know the same classes.
class Bench {
 public:
  Bench(const Config& config, const TestOptions& options, const std::vector<SetConfig>& sets,
        const std::vector<std::string>& classes)
      : session_(config, {.group = options.group,
                          .processes_here = options.processes_here,
                          .local_rank = options.local_rank,
                          .whole_batches = true}) {
    std::exception_ptr empty_set;
    const auto on_empty = [&](const EmptyDataset& empty, const std::string& set) {
      empty_set = std::current_exception();
      if (sets.size() > 1 && options.group->leads())
        log_warn(concat(title(config, set), " is left out: ", empty.what()));
    };
    const Group& group = *options.group;
    for (auto& set : session_.open_sets(sets, classes, on_empty, false))
      set->data.batches =
          set->data.batches.every(static_cast<std::uint64_t>(group.rank()), static_cast<std::uint64_t>(group.size()));
    if (session_.validation().empty()) std::rethrow_exception(empty_set);
    check_rows(session_.validation());
    session_.prepare();
    const DataParts& first = session_.validation().front()->data;
    layout_.emplace(first.sampler->fields(), first.batch);
  }

  const Session& session() const { return session_; }

  /// A collective, of the first call at least.
  Learner& learner(const MakeLearner& make) {
    if (learner_) return *learner_;
    LearnerSpec spec = session_.learner_spec(*layout_, session_.config());
    spec.val_layout = &*layout_;
    return *(learner_ = make(spec));
  }

 private:
  static std::string title(const Config& config, const std::string& set) {
    if (set.empty()) return "[data.val]";
    if (set == "test" && config.has_test_data()) return "[data.test]";
    const auto is_it = [&](auto& each) { return each.text("name") == set; };
    return (std::ranges::any_of(config.list("test.set"), is_it) ? "[[test.set]] " : "[[val.set]] ") + set;
  }

  Session session_;
  std::optional<SlabLayout> layout_;
  std::unique_ptr<Learner> learner_;
};

class TestRun {
 public:
  TestRun(const TestSubject& subject, const TestOptions& options, const MakeLearner& make_learner)
      : subject_(subject), options_(options), group_(*options.group), make_learner_(make_learner) {}

  TestResults run() {
    const Config base = agreed_config();
    skips_errors_ = base.table("test").text("on_error") == "skip";
    const auto snapshots = find_snapshots(subject_, options_, base);
    const auto settings = inference_settings(base);
    check_names(base, settings);
    for (auto& setting : settings) run_setting(base, setting, snapshots);
    TestResults results{std::move(outcomes_), snapshots.front().folder};
    together(group_, "the summary of a test", [&] {
      if (!group_.leads()) return;
      const Interrupt::Deferral whole(options_.interrupt);
      write_summary(results.folder, results.outcomes);
    });
    return results;
  }

 private:
  // run.seed = "random" is drawn once, for all settings and ranks.
  Config agreed_config() {
    Config config = load_for_use(subject_.start);
    const std::string seed = group_.broadcast("the seed of a test", to_toml(config.table("run").value("seed")));
    start_ = subject_.start;
    start_.overrides.push_back({"run.seed", seed, "run.seed"});
    return load_for_use(start_);
  }

  void check_names(const Config& base, const std::vector<InferenceSetting>& settings) const {
    std::set<std::string> names;
    for (auto& setting : settings)
      for (auto& set : test_sets(base, options_.sets))
        if (const auto name = part_name(0, set.name, setting.name); !names.insert(name).second)
          throw UserError(ExitCode::usage,
                          concat("two parts of the test would be called '", name, "': set ", shown_set(set.name),
                                 ", setting ", setting.name),
                          "give each [[test.setting]] and each set a name of its own");
  }

  void run_setting(const Config& base, const InferenceSetting& setting, const std::vector<TestedSnapshot>& snapshots) {
    std::optional<Config> config;
    std::vector<SetConfig> sets;
    const auto parts_of = [&](const TestedSnapshot& snapshot) {
      std::vector<TestPart> parts;
      for (auto& set : sets.empty() ? test_sets(base, options_.sets) : sets)
        parts.push_back({snapshot.path, snapshot.iteration, set.name, setting.name,
                         snapshot.folder / part_name(snapshot.iteration, set.name, setting.name)});
      return parts;
    };
    std::vector<TestPart> all;
    for (auto& snapshot : snapshots)
      for (auto& part : parts_of(snapshot)) all.push_back(part);
    const bool loaded = attempt(all, [&] {
      together(group_, "the configuration of a setting", [&] {
        StartOptions start = start_;
        start.overrides.insert(start.overrides.end(), setting.overrides.begin(), setting.overrides.end());
        config = load_for_use(start);
        config->check_trainable();
        sets = test_sets(*config, options_.sets);
      });
    });
    if (!loaded) return;
    std::unique_ptr<Bench> bench;
    std::vector<std::string> classes;
    for (auto& snapshot : snapshots)
      attempt(parts_of(snapshot), [&] {
        const auto learnt = classes_of(snapshot);
        if (!bench || learnt != classes) {
          bench.reset();
          together(group_, "the data of a test",
                   [&] { bench = std::make_unique<Bench>(*config, options_, sets, classes = learnt); });
        }
        run_snapshot(*bench, snapshot, parts_of(snapshot));
      });
  }

  // Carries out `work`. False where it failed, and the test goes on: its `parts` without a result are told to have
  // none.
  bool attempt(const std::vector<TestPart>& parts, const std::function<void()>& work) {
    try {
      work();
      return true;
    } catch (const std::exception& error) {
      const auto* users = dynamic_cast<const UserError*>(&error);
      const bool survivable = is_survivable(error) || (users && users->code() == ExitCode::snapshot);
      if (!skips_errors_ || !survivable) throw;
      const int code = static_cast<int>(users ? users->code() : ExitCode::usage);
      for (auto& part : parts) {
        const auto is_it = [&](auto& outcome) { return outcome.part.folder == part.folder; };
        if (std::ranges::any_of(outcomes_, is_it)) continue;
        if (group_.leads())
          log_warn(concat(part.folder.filename().string(), " is skipped: ", first_line(error.what())));
        outcomes_.push_back({.part = part, .error = first_line(error.what()), .exit_code = code});
      }
      return false;
    }
  }

  std::vector<std::string> classes_of(const TestedSnapshot& snapshot) {
    json classes;
    together(group_, "the classes of a snapshot", [&] {
      opened_.reset();
      if (!group_.leads()) return;
      opened_.emplace(open_snapshot(snapshot.path));
      classes = RunState::from_json(opened_->state_json).classes;
    });
    return json::parse(group_.broadcast("a snapshot's classes", classes.dump())).get<std::vector<std::string>>();
  }

  // The sets that are not empty, and not done yet.
  void run_snapshot(Bench& bench, const TestedSnapshot& snapshot, const std::vector<TestPart>& parts) {
    bool has_weights = false;
    for (auto& set : bench.session().validation()) {
      const TestPart& part = *std::ranges::find(parts, set->name, &TestPart::set);
      attempt({part}, [&] {
        nlohmann::ordered_json inputs;
        std::optional<PartOutcome> done;
        together(group_, "the inputs of a part", [&] {
          if (!group_.leads()) return;
          inputs = part_inputs(snapshot.path, *set, bench.session().device(), options_.pictures);
          done = read_part(part, inputs);
        });
        const bool is_done = group_.ask_leader("whether a part is done", [&] { return done ? "1" : ""; }) == "1";
        if (is_done) {
          if (group_.leads()) log_info(concat(part.folder.string(), " is done already"));
          outcomes_.push_back(done.value_or(PartOutcome{.part = part}));
          return;
        }
        if (!has_weights) load_weights(bench.learner(make_learner_), bench.session().config());
        has_weights = true;
        measure_part(bench, part, *set, inputs);
      });
    }
  }

  // Nothing is trained: the configuration's optimizers need not be the run's.
  void load_weights(Learner& learner, const Config& config) {
    together(group_, "the weights of a snapshot", [&] {
      if (group_.leads()) learner.load_state({.model = read_model(*opened_, validates_average(config))});
    });
    learner.share_state();
  }

  void measure_part(Bench& bench, const TestPart& part, const ValidationData& set,
                    const nlohmann::ordered_json& inputs) {
    const Measurement measured = measure(bench.session(), set, bench.learner(make_learner_));
    std::exception_ptr error;
    let_leader_work(group_, "the files of a test", [&] {
      try {
        const Interrupt::Deferral whole(options_.interrupt);
        write_part(part, measured, set, options_.pictures, inputs);
      } catch (...) {
        error = std::current_exception();
      }
    });
    together(group_, "the end of a part", [&] {
      if (error) std::rethrow_exception(error);
    });
    if (group_.leads() && options_.on_measured) options_.on_measured(part, measured);
    outcomes_.push_back({.part = part, .samples = measured.size, .scalars = measured.scalars});
  }

  const TestSubject& subject_;
  const TestOptions& options_;
  Group& group_;
  const MakeLearner& make_learner_;
  StartOptions start_;
  bool skips_errors_ = false;
  std::optional<OpenSnapshot> opened_;  // rank 0's: the snapshot that is measured
  std::vector<PartOutcome> outcomes_;
};

}  // namespace

TestResults run_tests(const TestSubject& subject, const TestOptions& options, const MakeLearner& make_learner) {
  return TestRun(subject, options, make_learner).run();
}

}  // namespace flowtrain
