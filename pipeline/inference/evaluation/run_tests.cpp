#include "pipeline/inference/evaluation/run_tests.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "pipeline/base/config/inference_settings.h"
#include "pipeline/base/config/run_folder.h"
#include "pipeline/base/errors/agree_on_error.h"
#include "pipeline/base/errors/policies.h"
#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/snapshot/manifest.h"
#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/session/fingerprints.h"
#include "pipeline/engine/session/pixel_form.h"
#include "pipeline/engine/session/start.h"
#include "pipeline/engine/train/run_state.h"
#include "pipeline/engine/train/snapshot_branch.h"
#include "pipeline/inference/evaluation/part_files.h"
#include "pipeline/inference/evaluation/part_inputs.h"
#include "pipeline/inference/evaluation/summary.h"
#include "pipeline/inference/evaluation/test_bench.h"
#include "pipeline/inference/evaluation/test_sets.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct TestedSnapshot {
  fs::path path;  // resolved: a link may move
  std::uint64_t iteration = 0;
  fs::path folder;  // RUN/test/NAME of the snapshot's run
};

// Returns the snapshots to test, of the run that the subject names, or of the newest run of its name.
std::vector<ChosenSnapshot> choose(const TestSubject& subject, const Config& config) {
  if (subject.snapshot) return {{*subject.snapshot}};
  auto run = as_run_folder(subject.start.config);
  if (!run) run = newest_run(*config.run().dir, config.name());
  if (!run && !subject.snapshots.snapshots.empty() && subject.snapshots.iterations.empty()) {
    std::vector<ChosenSnapshot> named;
    for (auto& path : subject.snapshots.snapshots) named.push_back({path});
    return named;
  }
  if (!run)
    throw UserError(ExitCode::snapshot, concat("there is no run called '", config.name(), "' in ", *config.run().dir),
                    "train first, or name a snapshot: --snapshot PATH");
  return test_snapshots(*run / "snapshots", subject.snapshots);
}

// Returns the run's folder for tests; for a snapshot outside of runs, a folder beside it.
fs::path test_folder(const fs::path& snapshot, const std::string& name) {
  const fs::path parent = snapshot.parent_path();
  const fs::path folder = (parent.filename() == "snapshots" ? parent.parent_path() : parent) / "test";
  return name.empty() ? folder : folder / name;
}

std::string part_name(std::uint64_t iteration, const std::string& set, const std::string& setting) {
  return concat(snapshot_name(iteration), set.empty() ? "" : ".", set, setting.empty() ? "" : "+", setting);
}

// A folder that tests write to. Only the first of several tests removes the unfinished files of killed ones.
class TestFolder {
 public:
  explicit TestFolder(const fs::path& path) {
    make_folders(path);
    lock_ = ::open((path / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (::flock(lock_, LOCK_EX | LOCK_NB) == 0)
      for (auto& name : names_in(path))
        if (is_leftover(name)) remove_quietly(path / name);
    ::flock(lock_, LOCK_SH);
  }
  TestFolder(TestFolder&& other) noexcept : lock_(std::exchange(other.lock_, -1)) {}
  TestFolder& operator=(TestFolder&&) = delete;
  ~TestFolder() { ::close(lock_); }

 private:
  int lock_;
};

// Finds the snapshots and reads them on rank 0; other ranks need not see the disk.
std::vector<TestedSnapshot> find_snapshots(const TestSubject& subject, const TestOptions& options, const Config& config,
                                           std::map<fs::path, TestFolder>& folders) {
  Group& group = *options.group;
  std::vector<TestedSnapshot> snapshots;
  json found = json::array();
  together(group, "the choice of snapshots", [&] {
    if (!group.leads()) return;
    for (auto& [place, why] : choose(subject, config)) {
      const std::uint64_t iteration = read_manifest(place).iteration;
      const fs::path path = fs::canonical(place), folder = test_folder(path, options.name);
      log_info(concat("snapshot ", path.string(), why.empty() ? "" : concat(": ", why)));
      if (!folders.contains(folder)) folders.emplace(folder, TestFolder(folder));
      snapshots.push_back({path, iteration, folder});
      found.push_back({path.string(), iteration, folder.string()});
    }
  });
  const std::string text = group.broadcast("the chosen snapshots", packed_json(found));
  if (group.leads()) return snapshots;
  for (auto& each : unpacked_json(text))
    snapshots.push_back({each[0].get<std::string>(), each[1], each[2].get<std::string>()});
  return snapshots;
}

class TestRun {
 public:
  TestRun(const TestSubject& subject, const TestOptions& options, const MakeLearner& make_learner)
      : subject_(subject), options_(options), group_(*options.group), make_learner_(make_learner) {}

  TestResults run() {
    const auto snapshots = find_snapshots(subject_, options_, load_for_use(subject_.start), folders_);
    const Config base = agreed_config(snapshots.front());
    skips_errors_ = base.table("test").text("on_error") == "skip";
    const auto settings = inference_settings(base);
    check_names(base, settings);
    for (auto& setting : settings) run_setting(base, setting, snapshots);
    finish_writing();
    TestResults results{std::move(outcomes_), snapshots.front().folder};
    together(group_, "the summary of a test", [&] {
      if (!group_.leads()) return;
      const Interrupt::Deferral whole(options_.interrupt);
      write_summary(results.folder, results.outcomes);
    });
    return results;
  }

 private:
  // Returns the configuration with a seed for all settings and ranks. By default it is that of the first snapshot, so
  // that a test that continues after a kill has the same one.
  Config agreed_config(const TestedSnapshot& first) {
    std::string seed;
    together(group_, "the seed of a test", [&] {
      if (!group_.leads()) return;
      const Config config =
          draws_seed(subject_.start) ? load_config(first.path / "config.toml") : load_for_use(subject_.start);
      seed = to_toml(*config.run().seed);
    });
    seed = group_.broadcast("the seed of a test", seed);
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
    json learnt;
    const auto close = [&] {
      finish_writing();
      bench_.reset();
    };
    close();
    for (auto& snapshot : snapshots)
      attempt(parts_of(snapshot), [&] {
        const json own = learnt_by(snapshot, *config);
        if (!bench_ || own != learnt) {
          close();
          together(group_, "the data of a test", [&] {
            bench_ = std::make_unique<TestBench>(*config, options_, sets, learnt_from(learnt = own));
            if (group_.leads() && !std::exchange(has_looked_at_training_, true)) bench_->warn_of_training_samples();
          });
        }
        run_snapshot(*bench_, snapshot, parts_of(snapshot));
      });
    close();  // it uses `config`, which ends here
  }

  // Runs `work`. Returns false if it failed and the test continues: `parts` without a result have then failed, too.
  bool attempt(const std::vector<TestPart>& parts, const std::function<void()>& work) {
    try {
      work();
      return true;
    } catch (const std::exception& error) {
      const auto code = code_if_skipped(error);
      if (!code) throw;
      for (auto& part : parts) {
        const auto is_it = [&](auto& outcome) { return outcome.part.folder == part.folder; };
        if (std::ranges::none_of(outcomes_, is_it)) outcomes_.push_back(skipped(part, error, *code));
      }
      return false;
    }
  }

  PartOutcome skipped(const TestPart& part, const std::exception& error, int code) const {
    const std::string reason = first_line(error.what());
    if (group_.leads()) log_warn(concat(part.folder.filename().string(), " is skipped: ", reason));
    return {.part = part, .error = reason, .exit_code = code};
  }

  // Returns the exit code of a skipped part; nothing if the error ends the test.
  std::optional<int> code_if_skipped(const std::exception& error) const {
    const auto* users = dynamic_cast<const UserError*>(&error);
    const bool survivable = is_survivable(error) || (users && users->code() == ExitCode::snapshot);
    if (!skips_errors_ || !survivable) return std::nullopt;
    return static_cast<int>(users ? users->code() : ExitCode::usage);
  }

  // Returns the classes and the form of the pixels that a snapshot's net learnt from.
  json learnt_by(const TestedSnapshot& snapshot, const Config& config) {
    json learnt;
    in_leader(group_, "the classes of a snapshot", [&] {
      opened_.reset();
      opened_.emplace(open_snapshot(snapshot.path));
      const RunInputs inputs = RunState::from_json(opened_->state_json).inputs;
      learnt = {{"classes", inputs.classes}, {"pixels", nullptr}};
      if (const auto& form = inputs.pixels) learnt["pixels"] = {form->height, form->width, form->channels};
      if (!std::exchange(has_compared_files_, true)) warn_of_changed_files(inputs, config);
    });
    return unpacked_json(group_.broadcast("a snapshot's classes", packed_json(learnt)));
  }

  static LearntData learnt_from(const json& learnt) {
    std::optional<PixelForm> pixels;
    if (const json& form = learnt.at("pixels"); !form.is_null()) {
      const auto number = [&](std::size_t i) { return form.at(i).get<std::uint64_t>(); };
      pixels = PixelForm{number(0), number(1), number(2)};
    }
    return {learnt.at("classes"), record_form(pixels)};
  }

  // Measures the sets that have samples and no results yet.
  void run_snapshot(TestBench& bench, const TestedSnapshot& snapshot, const std::vector<TestPart>& parts) {
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
          if (group_.leads()) log_info(concat(part.folder.string(), " was measured before"));
          outcomes_.push_back(done.value_or(PartOutcome{.part = part}));
          return;
        }
        if (!has_weights) load_weights(bench.learner(make_learner_), bench.session().config());
        has_weights = true;
        measure_part(bench, part, *set, inputs);
      });
    }
  }

  // A test trains nothing, so the optimizers of the configuration need not be those of the run.
  void load_weights(Learner& learner, const Config& config) {
    together(group_, "the weights of a snapshot", [&] {
      if (group_.leads()) learner.load_state({.model = read_model(*opened_, validates_average(config))});
    });
    learner.share_state();
  }

  void measure_part(TestBench& bench, const TestPart& part, const ValidationData& set,
                    const nlohmann::ordered_json& inputs) {
    auto measured = std::make_shared<const Measurement>(measure(bench.session(), set, bench.learner(make_learner_)));
    finish_writing();
    if (group_.leads() && options_.on_measured) options_.on_measured(part, *measured);
    writing_ = outcomes_.size();
    outcomes_.push_back({.part = part, .samples = measured->size, .scalars = measured->scalars});
    if (!group_.leads()) return;
    written_ = std::async(std::launch::async, [this, part, measured = std::move(measured), inputs, data = &set] {
      const Interrupt::Deferral whole(options_.interrupt);
      write_part(part, *measured, *data, options_.pictures, inputs);
    });
  }

  // Waits for the files of the last part, which are written while the next one is measured. A collective.
  void finish_writing() {
    if (!writing_) return;
    PartOutcome& outcome = outcomes_[*std::exchange(writing_, std::nullopt)];
    try {
      in_leader(group_, "the files of a part", [&] { written_.get(); });
    } catch (const std::exception& error) {
      const auto code = code_if_skipped(error);
      if (!code) throw;
      outcome = skipped(outcome.part, error, *code);
    }
  }

  const TestSubject& subject_;
  const TestOptions& options_;
  Group& group_;
  const MakeLearner& make_learner_;
  StartOptions start_;
  bool skips_errors_ = false;
  bool has_compared_files_ = false;
  bool has_looked_at_training_ = false;     // opened once: settings seldom change the data, which takes time to open
  std::map<fs::path, TestFolder> folders_;  // rank 0's
  std::optional<OpenSnapshot> opened_;      // rank 0's: the snapshot to measure
  std::vector<PartOutcome> outcomes_;
  std::unique_ptr<TestBench> bench_;
  std::optional<std::size_t> writing_;  // the outcome whose part is being written
  std::future<void> written_;           // rank 0's: writes the part; the destructor waits for it
};

}  // namespace

TestResults run_tests(const TestSubject& subject, const TestOptions& options, const MakeLearner& make_learner) {
  return TestRun(subject, options, make_learner).run();
}

}  // namespace flowtrain
