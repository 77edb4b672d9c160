// Optimizers, groups of parameters and schedules, as a user writes them; and the plan that tells of them.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/support/temp_run.h"

namespace flowtrain::hyper_parameters_test {
namespace {

std::string tiny_with(const std::string& more) { return std::string(tiny_config) + more; }

const std::string two_optimizers =
    "[[optim]]\nlabel = \"first\"\nparams = '^layers\\.0\\.'\nlr = 0.05\nmomentum = 0.9\n"
    "[[optim]]\nlabel = \"rest\"\nparams = '^layers\\.1\\.'\nlr = 0.05\nmomentum = 0.9\n";

/// tiny_config without its [optim].
std::string tiny_without_optim(const std::string& more) {
  std::string text = tiny_config;
  const std::string optim = "[optim]\nlr = 0.05\nmomentum = 0.9\n";
  text.erase(text.find(optim), optim.size());
  return text + more;
}

End trained(const std::string& config) {
  const TempRun place(config);
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  return end_of(place.path("run"));
}

}  // namespace

TEST_CASE("the plan of a run") {
  const TempRun place;
  const auto plan = place.run({"plan", "tiny.toml", "--set", "lr.stepsize=20", "--set", "lr.warmup.length=5"});
  REQUIRE_EXIT(plan, 0);
  for (auto text :
       {"60 iterations, 3.158 epochs, 960 samples; a step takes 16", "300 samples, 19 batches of 16 an epoch",
        "6 batches under way at most", "3 times, every 20 iterations, on 40 samples", "9 times, every 7 iterations",
        "mlp: 24,806 parameters in 4 tensors, 99.2 kB", "optimizer 99.2 kB", "0.01 at first", "0.0005 at last", "█"})
    CHECK_PRINTS(plan, text);
  CHECK_FALSE(std::filesystem::exists(place.path("runs")));
  CHECK_PRINTS(place.run({"plan", "tiny.toml", "--set", "lr.stepsize=200"}),
               "lr (step, --set): some of it is not reached");
  CHECK_PRINTS(place.run({"plan", "tiny.toml"}), "0.05 all the time");
  // Weights and momenta: 24,806 floats each, nine times; the four newest ones and the best one stay.
  CHECK_PRINTS(plan, "198 kB each: 1.79 MB written");
  CHECK_PRINTS(plan, "at most 5 are kept, 992 kB");
  // For a GPU that is not there; every metric is the same.
  const auto elsewhere = place.run(
      {"plan", "tiny.toml", "--set", "run.device=cuda", "--set", "lr.stepsize=20", "--set", "lr.warmup.length=5"});
  REQUIRE_EXIT(elsewhere, 0);
  CHECK(elsewhere.out == plan.out);
}

TEST_CASE("validations, snapshots and lines come by epochs as by iterations") {
  const TempRun place;  // 19 iterations an epoch
  const Words all{"--set", "snapshot.keep_last=100", "--set", "snapshot.keep_best=0", "--set", "snapshot.final=false"};
  const auto iterations = [&](const std::string& run, const std::string& kind) {
    std::vector<int> found;
    for (auto& line : metrics_of(place.path(run), kind)) found.push_back(line.at("iter"));
    return found;
  };
  using Iterations = std::vector<int>;
  const auto train = [&](const std::string& run, const std::string& val, const std::string& snapshot,
                         const std::string& display) {
    const Words every{"--set", "val.every=" + val,        "--set", "snapshot.every=" + snapshot,
                      "--set", "display.every=" + display};
    REQUIRE_EXIT(place.train(with(with(all, every), {"--run-dir", run})), 0);
  };
  train("epochs", "2 epochs", "1 epoch", "3 epochs");
  CHECK(iterations("epochs", "val") == Iterations{38, 60});  // and after the last iteration
  CHECK(iterations("epochs", "train") == Iterations{57});
  train("parts", "1 per epoch", "3 per epoch", "2 per epoch");
  CHECK(iterations("parts", "val") == Iterations{19, 38, 57, 60});
  CHECK(iterations("parts", "train") == Iterations{10, 20, 30, 40, 50, 60});  // 9.5, rounded
  for (auto& [run, every] : {std::pair{"epochs", 19}, {"parts", 6}}) {
    CAPTURE(run);
    const auto made = iterations(run, "snapshot");
    for (int iteration = every; iteration <= 60; iteration += every)
      CHECK(std::find(made.begin(), made.end(), iteration) != made.end());
    const auto validated = iterations(run, "val");
    for (const int iteration : made)
      CHECK((iteration % every == 0 || std::find(validated.begin(), validated.end(), iteration) != validated.end()));
  }
}

TEST_CASE("the net of a configuration") {
  const TempRun place(tiny_with("[[group]]\nparams = '^layers\\.0\\.'\nfrozen = true\n"));
  const auto info = place.run({"info", "tiny.toml"});
  REQUIRE_EXIT(info, 0);
  for (auto text : {"mlp: 24,806 parameters in 4 tensors, 99.2 kB; 24,608 frozen", "layers.0.weight", "32x768",
                    "frozen", "98.3 kB", "6x32", "sgd"})
    CHECK_PRINTS(info, text);
}

TEST_CASE("several optimizers of one kind train as one") {
  const auto one = trained(tiny_config);
  const TempRun place(tiny_without_optim(two_optimizers));
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  CHECK(end_of(place.path("run")) == one);
  const auto line = metrics_of(place.path("run"), "train").back();
  CHECK(line.at("lr.first") == 0.05);
  CHECK(line.at("lr.rest") == 0.05);
}

TEST_CASE("schedules say what [lr] says, and a resumed run follows them") {
  const auto short_form =
      trained(tiny_with("[lr]\nstepsize = 25\ndecay_rate = 5\n[lr.warmup]\nlength = 1\nby = \"epoch\"\n"));
  const auto long_form =
      trained(tiny_with("[[schedule]]\nname = \"step\"\nstepsize = 25\ndecay_rate = 5\n"
                        "[[schedule]]\nname = \"warmup\"\nlength = 1\nby = \"epoch\"\n"));
  CHECK(short_form == long_form);

  const std::string moving = tiny_with(
      "[[schedule]]\nname = \"cosine\"\n[[schedule]]\nname = \"one_cycle\"\ntarget = \"momentum\"\n"
      "[[schedule]]\nname = \"poly\"\ntarget = \"weight_decay\"\n[[group]]\nparams = 'bias$'\nlr_mult = 2\n"
      "[[group]]\nparams = 'weight$'\nweight_decay = 1e-3\n");
  const auto whole = trained(moving);
  const TempRun place(moving);
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "31", "--set", "schedule.0.end=60", "--set",
                            "schedule.1.end=60", "--set", "schedule.2.end=60"}),
               0);
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--resume", "auto", "--accept-changes"}), 0);
  CHECK(end_of(place.path("run")) == whole);
}

TEST_CASE("a rate is lowered when validation does not improve, and a resumed run knows") {
  const TempRun place(tiny_with("[[schedule]]\nname = \"plateau\"\npatience = 1\nmin_delta = 100\n"));
  const Words more{"--max-iter", "140"};
  REQUIRE_EXIT(place.train(with({"--run-dir", "whole"}, more)), 0);
  CHECK(metrics_of(place.path("whole"), "train").front().at("lr") == 0.05);
  CHECK(metrics_of(place.path("whole"), "train").back().at("lr") ==
        doctest::Approx(0.0005));  // after iterations 60 and 100
  for (const std::string stop : {"70", "100"}) {
    REQUIRE_EXIT(place.train({"--run-dir", stop, "--max-iter", stop}), 0);
    REQUIRE_EXIT(place.train(with({"--run-dir", stop, "--resume", "auto"}, more)), 0);
  }
  CHECK(metrics_of(place.path("100"), "end").back().at("params_xxh64") == end_of(place.path("whole")).params);
}

TEST_CASE("what is frozen does not change") {
  const TempRun place(tiny_with("[[group]]\nparams = '^layers\\.0\\.'\nfrozen = true\n"));
  REQUIRE_EXIT(place.train({"--run-dir", "begin", "--initialize"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  const auto diff = place.run({"snapshot", "diff", "begin/snapshots/iter-00000000", "run/snapshots/iter-00000060"});
  CHECK_PRINTS(diff, "layers.1.weight");
  CHECK(diff.out.find("layers.0") == std::string::npos);
  CHECK_PRINTS(place.run({"plan", "tiny.toml"}), "24,608 frozen");
}

TEST_CASE("a group's rate is its factor times the optimizer's, and of several groups that match the first counts") {
  const std::string still = "[[group]]\nparams = '^layers\\.0\\.'\nlr_mult = 0\n",
                    faster = "[[group]]\nparams = 'weight$'\nlr_mult = 2\n";
  const TempRun place(tiny_with(still + faster));
  REQUIRE_EXIT(place.train({"--run-dir", "begin", "--initialize"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "run"}), 0);
  const auto diff = place.run({"snapshot", "diff", "begin/snapshots/iter-00000000", "run/snapshots/iter-00000060"});
  CHECK_PRINTS(diff, "model: layers.1.weight");
  CHECK_PRINTS(diff, "model: layers.1.bias");
  CHECK(diff.out.find("model: layers.0") == std::string::npos);  // its momentum is there all the same
  // The other way round the weight of layers.0 is the faster group's.
  const auto other = trained(tiny_with(faster + still));
  CHECK(other.params != end_of(place.path("run")).params);
}

TEST_CASE("an optimizer's own clip cuts its gradients and no others") {
  const std::string simple =
      "[[optim]]\nlabel = \"first\"\nparams = '^layers\\.0\\.'\nlr = 0.05\n"
      "[[optim]]\nlabel = \"rest\"\nparams = '^layers\\.1\\.'\nlr = 0.05\n";
  const TempRun place(tiny_without_optim(simple));
  const Words once{"--max-iter", "1", "--set", "display.every=1"};
  REQUIRE_EXIT(place.train({"--run-dir", "begin", "--initialize"}), 0);
  REQUIRE_EXIT(place.train(with(once, {"--run-dir", "whole"})), 0);
  REQUIRE_EXIT(place.train(with(once, {"--run-dir", "own", "--set", "optim.0.clip=1e-20"})), 0);
  REQUIRE_EXIT(place.train(with(once, {"--run-dir", "both", "--set", "train.clip=1e-20"})), 0);
  REQUIRE_EXIT(place.train(with(once, {"--run-dir", "spared", "--set", "train.clip=1e-20", "--set", "optim.1.clip=0"})),
               0);
  const auto moved = [&](const std::string& from, const std::string& to) {
    const std::string at = from == "begin" ? "begin/snapshots/iter-00000000" : from + "/snapshots/iter-00000001";
    return place.run({"snapshot", "diff", at, to + "/snapshots/iter-00000001"}).out;
  };
  const auto has = [](const std::string& text, const std::string& layer) {
    return text.find(layer) != std::string::npos;
  };
  CHECK(has(moved("begin", "whole"), "layers.0"));
  for (const std::string run : {"own", "spared"}) {
    CAPTURE(run);
    CHECK_FALSE(has(moved("begin", run), "layers.0"));  // too little to show
    CHECK(has(moved("begin", run), "layers.1"));
    CHECK_FALSE(has(moved("whole", run), "layers.1"));  // as if nothing had been clipped
  }
  CHECK_FALSE(has(moved("begin", "both"), "layers"));
  const auto clipped = [&](const std::string& run) {
    return metrics_of(place.path(run), "train").back().value("clipped", 0.);
  };
  CHECK(clipped("own") == 1);
  CHECK(clipped("whole") == 0);
}

TEST_CASE("parameters that nobody or everybody learns are refused before anything is read") {
  const auto refusal = [](const std::string& config) {
    const TempRun place(config);
    const auto outcome = place.train({"--run-dir", "run"});
    CHECK_EXIT(outcome, 2);
    CHECK_FALSE(std::filesystem::exists(place.path("run")));
    return outcome;
  };
  auto both = refusal(
      tiny_without_optim("[[optim]]\nlabel = \"a\"\nparams = 'layers'\n[[optim]]\nlabel = \"b\"\nparams = 'weight'\n"));
  CHECK(both.err.find("tiny.toml:29:1: optim.1.params: the parameter layers.0.weight belongs to another optimizer, too "
                      "(tiny.toml:26:1)") != std::string::npos);
  auto none = refusal(tiny_with("[[group]]\nparams = '^conv'\nfrozen = true\n"));
  CHECK(none.err.find("tiny.toml:28:1: group.0.params: matches no parameter of the net") != std::string::npos);
  auto left = refusal(tiny_without_optim("[optim]\nparams = 'weight'\n"));
  CHECK(left.err.find("no optimizer learns the parameter layers.0.bias") != std::string::npos);
}

TEST_CASE("what nothing reads is told; a plateau without validation is refused, unless validation is off for once") {
  const TempRun place(tiny_with("[train]\nclip_p = 1.0\n"));
  const auto trained = place.train({"--set", "optim.name=adam", "--max-iter", "1"});
  REQUIRE_EXIT(trained, 0);
  CHECK_SAYS(trained, "note: train.clip_p (tiny.toml:28:1) is not read: clip is 0.0 (default)");
  CHECK(trained.err.find("optim.momentum") == std::string::npos);  // sgd's, which the file said, is left aside
  CHECK(place.train({"--set", "train.clip=1.0", "--max-iter", "1"}).err.find("not read") == std::string::npos);
  const auto of_sgd = place.train({"--set", "optim.name=adam", "--set", "optim.momentum=0.5"});
  CHECK_EXIT(of_sgd, 2);
  CHECK_SAYS(of_sgd, "--set: optim.momentum: the optimizer 'adam' has no such key");
  CHECK_SAYS(of_sgd, "it is a key of these optimizers: muon, rmsprop, sgd");

  std::string config = tiny_with("[[schedule]]\nname = \"plateau\"\n");
  CHECK_EXIT(TempRun(config).train({"--overfit", "32", "--max-iter", "2"}), 0);
  config.replace(config.find("every = 20"), 10, "every = 0");
  const auto refused = TempRun(config).train();
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused,
             "tiny.toml:28:1: schedule.0.name: \"plateau\" looks at validations, and there are none: val.every is 0 "
             "(tiny.toml:21:1)");
}

TEST_CASE("max_epochs and periods in epochs mean the data seen so often, with train.accum, too") {
  const TempRun place;
  for (const auto& [accum, last] :
       {std::pair{"3", std::size_t{13}}, {"8", std::size_t{5}}}) {  // two epochs of 19 batches
    CAPTURE(accum);
    const std::string run = std::string("run-") + accum;
    REQUIRE_EXIT(
        place.train({"--run-dir", run, "--set", "run.max_iter=0", "--set", "run.max_epochs=2", "--set",
                     std::string("train.accum=") + accum, "--set", "val.every=1 epoch", "--set", "display.every=1"}),
        0);
    const auto lines = metrics_of(place.path(run), "train");
    CHECK(lines.size() == last);
    CHECK(lines.back().at("epoch") == 2);
    const auto epochs = metrics_of(place.path(run), "epoch"), validations = metrics_of(place.path(run), "val");
    REQUIRE(epochs.size() == 2);
    REQUIRE(validations.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) CHECK(epochs[i].at("iter") == validations[i].at("iter"));
  }
}

TEST_CASE("snapshots are kept for good by epochs, too") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--set", "snapshot.every=1 epoch", "--set", "snapshot.keep_every=2 epochs", "--set",
                            "snapshot.keep_last=1", "--set", "val.every=0"}),
               0);
  std::set<std::string> kept;  // of 19, 38, 57 and 60
  for (auto& entry : std::filesystem::directory_iterator(place.path("runs/tiny/snapshots")))
    if (!entry.is_symlink()) kept.insert(entry.path().filename());
  CHECK(kept == std::set<std::string>{"iter-00000038", "iter-00000060"});
}

TEST_CASE("the learning rate may be meant for another number of samples") {
  const auto meant = trained(tiny_without_optim("[optim]\nlr = 0.1\nmomentum = 0.9\nlr_base_batch = 32\n"));
  CHECK(meant == trained(tiny_config));
}

}  // namespace flowtrain::hyper_parameters_test
