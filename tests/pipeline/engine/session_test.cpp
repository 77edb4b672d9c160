// A session opens data and makes loaders for a command, or refuses to.

#include "pipeline/engine/session/session.h"

#include <doctest/doctest.h>

#include "pipeline/engine/session/resume_command.h"
#include "pipeline/engine/session/run_graph.h"
#include "sampling/core/error.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::session_test {
namespace {

const std::string shapes =
    "[run]\nseed = 1\nmax_iter = 8\n[data]\ndataset = \"shapes\"\nsamples = 64\nval_samples = 24\nsize = 16\n[loader]\n"
    "batch = 8\nworkers = 1\n[net]\nname = \"mlp\"\n[optim]\nlr = 0.5\n[lr]\nstepsize = 2\ndecay_rate = 10\n";
const std::string sets = "[val]\nevery = 4\n[[val.set]]\nname = \"more\"\nval_samples = 16\n";

Config config_of(const TempFolder& folder, const std::string& more = {}) {
  return load_config(folder.write("c.toml", shapes + more));
}

}  // namespace

TEST_CASE("a session gives batches of the training data, and nothing that was not asked for") {
  const TempFolder folder;
  const Config config = config_of(folder, sets);
  Session session(config, {.dry_run = true, .device = "cpu"});
  CHECK(session.open_training().dataset->size() == 64);
  CHECK(session.open_validation().empty());  // a dry run validates nothing
  CHECK(session.classes().size() == 6);
  CHECK(session.epoch() == 8);
  CHECK_THROWS_AS(session.make_loader(loader_parts("train", session.train(), config)), InternalError);
  session.prepare();
  const auto line = session.make_loader(loader_parts("train", session.train(), config));
  line->start();
  CHECK(first_batch(*line).rows().size() == 8);
  line->stop();
  const auto refuses = [](const LearnerSpec&) -> std::unique_ptr<Learner> { throw InternalError("no net is wanted"); };
  CHECK(session.make_learner(refuses, line->layout()) != nullptr);
}

TEST_CASE("an interrupted run goes on by its folder, with the flags about processes that started it") {
  CHECK(resume_command({"flowtrain", "a.toml", "--set", "x=1", "--max-iter", "9"}, "runs/a", 1) == "flowtrain runs/a");
  CHECK(resume_command({"./bin/flowtrain", "train", "--gpus", "0,2", "a.toml"}, "my runs/a", 1) ==
        "./bin/flowtrain 'my runs/a' --gpus 0,2");
  CHECK(resume_command({"/opt/flowtrain", "a.toml", "--distributed", "--world-size=2", "--run-dir", "b"}, "b", 2) ==
        "/opt/flowtrain b --distributed --world-size=2");
  CHECK(resume_command({"python3", "train.py"}, "runs/a", 1) == "flowtrain runs/a");
  CHECK(resume_command({"flowtrain", "a.toml"}, "runs/a", 4) ==
        "flowtrain runs/a, in the place of the command that each rank was started with");
}

TEST_CASE("a session's net has the classes and layouts of what was opened") {
  const TempFolder folder;
  const Config config = config_of(folder, sets);
  Session session(config, {.device = "cpu"});
  session.open_training();
  CHECK(session.open_validation().size() == 2);
  CHECK_FALSE(session.validates_async());
  session.prepare();
  session.make_validation_loaders({{"more", {.batches = 3, .bad_samples = {}}}});
  const SlabLayout layout(session.train().sampler->fields(), 8);
  const auto spec = session.learner_spec(layout, config);
  CHECK(spec.data.classes == 6);
  CHECK(spec.data.val_layout == &session.validation().front()->loader->layout());
  CHECK(*session.learner_spec(layout, config.with("train", "accum", std::int64_t{3})).tables.train.accum == 3);
  Loader& more = *session.validation().back()->loader;
  more.start();
  Ticket ticket;
  REQUIRE(more.next(ticket));
  CHECK(ticket.iteration == 4);  // three batches were taken before
  more.release(ticket);
  more.stop();
}

TEST_CASE("validation without training data has the classes that it is given, or its own") {
  const TempFolder folder;
  const Config config = config_of(folder, sets);
  Session own(config, {.device = "cpu"});
  CHECK(own.open_sets(validation_set_configs(config), {}, {}).size() == 2);
  CHECK(own.classes().size() == 6);
  std::vector<std::string> learnt = own.classes();
  learnt.emplace_back("one more");
  Session given(config, {.device = "cpu"});
  given.open_sets(validation_set_configs(config), {learnt}, {});
  CHECK(given.classes() == learnt);
}

TEST_CASE("what is not trained moves along no schedule") {
  const TempFolder folder;
  const Config config = config_of(folder);
  for (const auto mode : {TrainMode::full, TrainMode::forward_only}) {
    Session session(config, {.mode = mode, .device = "cpu"});
    session.open_training();
    const RunPlan run_plan = session.run_plan(2);
    CHECK(run_plan.first == 2);
    CHECK(run_plan.last == 8);
    CHECK(run_plan.hyper(1).front().lr == 0.5);
    CHECK(run_plan.hyper(8).front().lr == doctest::Approx(mode == TrainMode::full ? 0.5e-3 : 0.5));
  }
}

TEST_CASE("batches that fit into no memory are refused before a line is made, but where they are only described") {
  const TempFolder folder;
  const Config config =
      config_of(folder).with("loader", "batch", std::int64_t{1} << 24).with("loader", "prefetch", std::int64_t{4000});
  for (const bool checks : {true, false}) {
    Session session(config, {.dry_run = true, .checks_memory = checks, .device = "cpu"});
    session.open_training();
    if (checks)
      CHECK_THROWS_WITH_AS(session.prepare(), doctest::Contains("batches would take "), UserError);
    else
      CHECK_NOTHROW(session.prepare());
  }
}

TEST_CASE("the graph of a run names each logger, with its queue") {
  const TempFolder folder;
  const std::string drawn = draw_graph(config_of(folder, sets));
  for (const char* there : {"compute", "display", "queue of 64 reports", "snapshot", "val more"})
    CHECK(drawn.find(there) != drawn.npos);
}

}  // namespace flowtrain::session_test
