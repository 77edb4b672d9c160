#include "pipeline/engine/graph/hyper_parameters.h"

#include <doctest/doctest.h>

#include "pipeline/engine/graph/run_plan.h"
#include "pipeline/engine/session/assembly.h"
#include "sampling/core/text.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::hyper_parameters_test {

namespace {

const std::string two_optimizers = R"(
[run]
max_iter = 40
[data]
dataset = "shapes"
[loader]
batch = 16
[net]
name = "mlp"
[[optim]]
label = "a"
params = "x"
lr = 0.1
momentum = 0.9
weight_decay = 0.1
[[optim]]
label = "b"
name = "adamw"
params = "y"
lr = 0.01
betas = [0.8, 0.99]
lr_base_batch = 8
)";

Config loaded(const std::string& schedules) {
  const TempFolder folder;
  folder.write("a.toml", two_optimizers + schedules);
  return load_config(folder.path() / "a.toml");
}

struct Expected {
  std::uint64_t iteration;
  HyperParameters a, b;
};

}  // namespace

TEST_CASE("each schedule moves its target, of the optimizer that it names or of all") {
  const Config config = loaded(R"(
[[schedule]]
name = "step"
optim = "a"
stepsize = 10
decay_rate = 10
[[schedule]]
name = "multi_step"
target = "momentum"
optim = "b"
milestones = [5]
decay_rate = 2
[[schedule]]
name = "step"
target = "weight_decay"
stepsize = 20
decay_rate = 4
[[schedule]]
name = "step"
target = "momentum"
optim = "a"
stepsize = 30
decay_rate = 3
)");
  const RunPlan run_plan = make_run_plan(config, Batches(160, 16, LastBatch::wrap), 1, false);
  REQUIRE(run_plan.optimizers.size() == 2);
  CHECK(run_plan.optimizers[0].label == "a");
  CHECK(run_plan.optimizers[1].label == "b");
  // Adam's momentum is the first of its betas; b's rate is for steps of 8 samples, and these have 16.
  const Expected expected[] = {
      {1, {0.1, 0.9, 1}, {0.02, 0.8, 1}},           {5, {0.1, 0.9, 1}, {0.02, 0.8, 1}},
      {6, {0.1, 0.9, 1}, {0.02, 0.4, 1}},           {10, {0.1, 0.9, 1}, {0.02, 0.4, 1}},
      {11, {0.01, 0.9, 1}, {0.02, 0.4, 1}},         {21, {0.001, 0.9, 0.25}, {0.02, 0.4, 0.25}},
      {31, {0.0001, 0.3, 0.25}, {0.02, 0.4, 0.25}}, {40, {0.0001, 0.3, 0.25}, {0.02, 0.4, 0.25}}};
  for (auto& [at, a, b] : expected) {
    const std::uint64_t iteration = at;
    CAPTURE(iteration);
    const auto hyper = run_plan.hyper(iteration);
    REQUIRE(hyper.size() == 2);
    for (auto [is, wanted] : {std::pair{hyper[0], a}, {hyper[1], b}}) {
      CHECK(is.lr == doctest::Approx(wanted.lr));
      CHECK(is.momentum == doctest::Approx(wanted.momentum));
      CHECK(is.weight_decay == doctest::Approx(wanted.weight_decay));
    }
  }
  std::vector<std::uint64_t> changes;
  for (std::uint64_t iteration = run_plan.first; iteration <= run_plan.last; ++iteration)
    if (iteration == run_plan.first || run_plan.hyper(iteration) != run_plan.hyper(iteration - 1))
      changes.push_back(iteration);
  CHECK(changes == std::vector<std::uint64_t>{1, 6, 11, 21, 31});
}

TEST_CASE("a run of so many epochs sees the data so often, whatever train.accum is") {
  for (const std::uint64_t accum : {1, 2, 3, 7, 8, 25}) {
    CAPTURE(accum);
    const Config config = loaded(concat("[train]\naccum = ", accum, "\n[snapshot]\nevery = \"2 epochs\"\n"));
    const Config of_epochs =
        config.with("run", "max_iter", std::int64_t{0}).with("run", "max_epochs", std::int64_t{30});
    const RunPlan run_plan = make_run_plan(of_epochs, Batches(160, 16, LastBatch::wrap), 1, true);
    CHECK(run_plan.last * accum >= 300);
    CHECK((run_plan.last - 1) * accum < 300);
    CHECK(run_plan.snapshot_every.iterations(15) == run_plan.last);
  }
}

TEST_CASE("another end of the run counts where a schedule goes by it") {
  const auto ends = [](const std::string& before, const std::string& now, std::int64_t iterations) {
    return changed_ends(loaded(before), loaded(now).with("run", "max_iter", iterations));
  };
  const auto schedule = [](const std::string& name, const std::string& more = "") {
    return "[[schedule]]\nname = \"" + name + "\"\n" + more;
  };
  for (const std::string kind : {"cosine", "poly", "one_cycle", "wsd"}) {
    CAPTURE(kind);
    const auto changed = ends(schedule(kind), schedule(kind), 80);
    REQUIRE(changed.size() == 1);
    CHECK(changed[0].name == kind);
    CHECK(changed[0].was == "40, the run's");
    CHECK(changed[0].is == "80, the run's");
    CHECK(ends(schedule(kind), schedule(kind), 30).size() == 1);
    CHECK(ends(schedule(kind), schedule(kind), 40).empty());
    const std::string own = schedule(kind, "end = 40\n");
    CHECK(ends(own, own, 80).empty());
    CHECK(ends(schedule(kind), own, 80).empty());  // the end that it had
    CHECK(ends(own, schedule(kind, "end = 50\n"), 80).size() == 1);
  }
  const std::string others = schedule("warmup", "length = 5\n") + schedule("step", "stepsize = 7\n") +
                             schedule("multi_step", "milestones = [50]\n") +
                             schedule("exponential", "decay_rate = 2.0\n") + schedule("inverse_sqrt", "rise = 5\n") +
                             schedule("cosine_restarts", "period = 9\n");
  CHECK(ends(others, others, 80).empty());
  CHECK(ends(others, others, 20).empty());
  const auto changed = ends(others + schedule("cosine"), others + schedule("cosine"), 41);
  REQUIRE(changed.size() == 1);
  CHECK(changed[0].key == "schedule.6.end");
  // A schedule whose value does not move derives nothing from the end of the run.
  CHECK(ends(schedule("cosine", "min_factor = 1.0\n"), schedule("cosine", "min_factor = 1.0\n"), 80).empty());
  // By epoch, and where the run's length is in epochs.
  const std::string by_epoch = schedule("cosine", "by = \"epoch\"\n");
  CHECK(ends(by_epoch, by_epoch, 80).size() == 1);
  const Config epochs = loaded(by_epoch).with("run", "max_iter", std::int64_t{0});
  const auto longer = changed_ends(epochs.with("run", "max_epochs", std::int64_t{3}),
                                   epochs.with("run", "max_epochs", std::int64_t{4}));
  REQUIRE(longer.size() == 1);
  CHECK(longer[0].is == "4 epochs, the run's");
}

TEST_CASE("an optimizer that makes no update within the run is refused, and lost iterations are noted") {
  const Config config = loaded("accum = 4\n");
  CHECK_THROWS_WITH_AS(check_updates(config, 3),
                       doctest::Contains("optim.1.accum: one update takes 4 iterations, and the run has 3, so b never "
                                         "changes a parameter"),
                       UserError);
  check_updates(config, 4);
  CHECK(schedule_notes(config, 10, 4).empty());
  const auto notes = schedule_notes(config, 10, 6);
  REQUIRE(notes.size() == 1);
  CHECK(notes[0].find("): iterations 5 to 6 make no update") != std::string::npos);
  CHECK(schedule_notes(config, 10, 9).at(0).find("iteration 9 makes no update") != std::string::npos);
}

TEST_CASE("a note tells of a rate that stays 0, and of rules that meet one validation only") {
  const std::string first = "[[schedule]]\nname = \"cosine\"\nend = 20\n";
  const auto zero = schedule_notes(loaded(first + "[[schedule]]\nname = \"cosine\"\nbegin = 20\n"), 10, 40);
  REQUIRE(zero.size() == 2);
  CHECK(zero[0].starts_with("the learning rate of a is 0 from iteration 21 on: schedules that overlap multiply"));
  CHECK(schedule_notes(loaded("[[schedule]]\nname = \"cosine\"\n"), 10, 40).empty());
  CHECK(schedule_notes(loaded(first), 10, 1000000).at(0).find("is 0 from iteration 21 on") != std::string::npos);

  const std::string plateau = "[[schedule]]\nname = \"plateau\"\n[early_stop]\npatience = 2\n[val]\nevery = ";
  const auto idle = schedule_notes(loaded(plateau + "40\n"), 10, 40);
  REQUIRE(idle.size() == 2);
  CHECK(idle[0].starts_with("early_stop.patience ("));
  CHECK(idle[0].find("never acts: the run has one validation, at its end") != std::string::npos);
  CHECK(idle[1].starts_with("schedule.0.name ("));
  CHECK(schedule_notes(loaded(plateau + "39\n"), 10, 40).empty());
}

TEST_CASE("what no schedule names stays, and periods in epochs become iterations") {
  const Config config = loaded(
      "[[schedule]]\nname = \"step\"\nby = \"epoch\"\nstepsize = 2\ndecay_rate = 10\n"
      "[val]\nevery = \"2 epochs\"\n[snapshot]\nevery = \"4 per epoch\"\n");
  const Batches batches(160, 16, LastBatch::wrap);  // ten an epoch
  const RunPlan run_plan = make_run_plan(config, batches, 1, true);
  CHECK(run_plan.validate_every == 20);
  CHECK(run_plan.snapshot_every == 3);  // 2.5, rounded
  CHECK(make_run_plan(config, batches, 1, false).validate_every == 0);
  for (auto [iteration, factor] : {std::pair{20, 1.}, {21, 0.1}}) {
    const auto hyper = run_plan.hyper(static_cast<std::uint64_t>(iteration));
    CHECK(hyper.at(0).lr == doctest::Approx(0.1 * factor));
    CHECK(hyper.at(1).lr == doctest::Approx(0.02 * factor));
    for (auto& each : hyper) CHECK(each.weight_decay == 1);
    CHECK(hyper.at(0).momentum == 0.9);
    CHECK(hyper.at(1).momentum == 0.8);
  }
}

}  // namespace flowtrain::hyper_parameters_test
