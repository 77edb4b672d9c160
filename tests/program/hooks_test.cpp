// Hooks and training steps, built in and of one's own.

#include <doctest/doctest.h>

#include <map>
#include <sstream>

#include "tests/support/temp_run.h"

namespace flowtrain::hooks_test {
namespace {

std::string tiny_with(const std::string& more) { return std::string(tiny_config) + more; }

/// tiny_config with the hook of tests.
std::string every_point(const std::string& keys, const std::string& more = "") {
  return with_plugins({"every_point"}, tiny_with(more + "[[hook]]\nname = \"every_point\"\nlog = \"notes\"\n" + keys));
}

/// How often each point was noted, and the lines.
struct Notes {
  std::vector<std::string> lines;
  std::map<std::string, int> counts;
};

Notes notes_of(const TempRun& place, int rank = 0) {
  Notes notes;
  std::ifstream file(place.path("notes." + std::to_string(rank)));
  for (std::string line; std::getline(file, line); notes.lines.push_back(line))
    ++notes.counts[line.substr(0, line.find(' '))];
  return notes;
}

std::vector<std::string> first(std::vector<std::string> lines, std::size_t count) {
  lines.resize(std::min(lines.size(), count));
  return lines;
}

End trained(const TempRun& place, const Words& more = {}) {
  REQUIRE_EXIT(place.train(with({"--run-dir", "run"}, more)), 0);
  return end_of(place.path("run"));
}

}  // namespace

TEST_CASE("--no-optim computes no gradients, --no-optim=backward changes nothing, and neither moves schedules") {
  for (const std::string flag : {"--no-optim", "--no-optim=backward"}) {
    CAPTURE(flag);
    const TempRun place(every_point("", "[lr]\nstepsize = 2\n"));
    const auto outcome = place.train({flag, "--max-iter", "10"});
    REQUIRE_EXIT(outcome, 0);
    const auto counts = notes_of(place).counts;
    CHECK(counts.at("loss") == 10);
    CHECK(counts.contains("backward") == (flag == "--no-optim=backward"));
    CHECK_FALSE(counts.contains("step"));
    CHECK_SAYS(outcome, "iter 10/10");
    CHECK(outcome.err.find("lr 0.005") == std::string::npos);
    CHECK_SAYS(outcome, "lr 0.05");
    for (const Words& more : {Words{"--iter", "3"}, {"--resume", "auto"}, {"--run-dir", "there"}, {"--initialize"}}) {
      const auto refused = place.train(with({flag}, more));
      CHECK_EXIT(refused, 2);
      CHECK_SAYS(refused, more.front());
    }
  }
}

TEST_CASE("a hook is called at every event, and changes nothing unless it wants to") {
  const TempRun place(every_point(""));
  CHECK(trained(place) == trained(TempRun()));
  const auto [lines, counts] = notes_of(place);
  // 19 batches an epoch; 60 iterations are three epochs and a bit.
  const std::map<std::string, int> expected{{"run_begin", 1},        {"epoch_begin", 4},    {"epoch_end", 3},
                                            {"iteration_begin", 60}, {"batch", 60},         {"loss", 60},
                                            {"backward", 60},        {"step", 60},          {"iteration_end", 60},
                                            {"validation_begin", 3}, {"validation_end", 3}, {"snapshot_begin", 12},
                                            {"snapshot_end", 12},    {"run_end", 1}};
  for (auto& [event, count] : expected) {
    CAPTURE(event);
    if (event.starts_with("snapshot"))
      CHECK(counts.at(event) >= 9);
    else
      CHECK(counts.at(event) == count);
  }
  CHECK(counts.size() == expected.size());
  CHECK(first(lines, 8) == std::vector<std::string>{"run_begin 0 0 0", "epoch_begin 1 0 0", "iteration_begin 1 0 0",
                                                    "batch 1 0 16", "loss 1 0 16", "backward 1 0 16", "step 1 0 16",
                                                    "iteration_end 1 0 16"});
  CHECK(metrics_of(place.path("run"), "train").front().at("calls") == 5 * 6 + 2);
}

TEST_CASE("a hook is shown the ids of the batch's own rows, as a replay has them") {
  const TempRun place(every_point("rows = \"rows\"\n"));
  trained(place, {"--max-iter", "20"});
  std::ifstream file(place.path("rows.0"));
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  REQUIRE(lines.size() == 20);
  for (const int iteration : {1, 19, 20}) {  // 20 begins the second epoch
    CAPTURE(iteration);
    const std::string number = std::to_string(iteration);
    REQUIRE_EXIT(place.run({"replay", "tiny.toml", "--iter", number, "--out", number}), 0);
    const auto batch = nlohmann::json::parse(read_text(place.path(number) / "batch.json"));
    std::string expected = number;
    for (auto& row : batch.at("rows")) expected += " " + std::to_string(row.at("id").get<std::uint64_t>());
    CHECK(lines[static_cast<std::size_t>(iteration) - 1] == expected);
  }
}

TEST_CASE("a hook may change rates, batches, losses and gradients") {
  const auto with_keys = [](const std::string& keys, const Words& more = {}) {
    return trained(TempRun(every_point(keys)), more);
  };
  const auto plain = trained(TempRun());
  // Without momentum's past a rate twice as high, a loss twice as large and gradients twice as large are one and the
  // same.
  const Words simple{"--set", "optim.momentum=0", "--set", "optim.lr=0.03125"};
  const auto twice = trained(TempRun(), {"--set", "optim.momentum=0", "--set", "optim.lr=0.0625"});
  for (auto keys : {"lr_mult = 2.0", "loss_factor = 2.0", "gradient_factor = 2.0"}) {
    CAPTURE(keys);
    CHECK(with_keys(keys, simple).params == twice.params);
  }
  CHECK(with_keys("blank = true").params != plain.params);
  CHECK(with_keys("blank = true").order == plain.order);
}

TEST_CASE("a metric cannot take the place of a field that each line has") {
  const TempRun place(every_point("metric = \"lr\"\n"));
  const auto outcome = place.train({"--run-dir", "run"});
  REQUIRE_EXIT(outcome, 0);
  const std::string warning = "a train line has a `lr` of its own";
  CHECK_SAYS(outcome, warning);
  CHECK(outcome.err.find(warning, outcome.err.find(warning) + 1) == std::string::npos);  // once
  for (auto& line : metrics_of(place.path("run"), "train")) CHECK(line.at("lr").get<double>() < 1);
}

TEST_CASE("a hook ends a run in good order, and its state goes on") {
  const TempRun place(every_point("stop_at = 33\n"));
  const auto stopped = place.train({"--run-dir", "run"});
  REQUIRE_EXIT(stopped, 0);
  CHECK_SAYS(stopped, "stopped early: the test wants it");
  CHECK(end_of(place.path("run")).iteration == 33);
  const auto calls = static_cast<int>(notes_of(place).lines.size());
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--resume", "auto"}), 0);
  CHECK(metrics_of(place.path("run"), "end").back().at("params_xxh64") == trained(TempRun()).params);
  const auto notes = notes_of(place);
  CHECK(notes.counts.at("resume") == 1);
  // The snapshot was made before snapshot_end and run_end were noted.
  CHECK(metrics_of(place.path("run"), "train").back().at("calls").get<int>() < static_cast<int>(notes.lines.size()));
  CHECK(metrics_of(place.path("run"), "train").back().at("calls").get<int>() > calls);
}

TEST_CASE("several processes end together where the hook of one asks for it") {
  const TempRun place(every_point("stop_at = 10\nstop_rank = 1\n"));
  const auto stopped = place.train({"--run-dir", "run", "--distributed", "--world-size", "2"});
  REQUIRE_EXIT(stopped, 0);
  CHECK(end_of(place.path("run")).iteration == 11);
  CHECK(notes_of(place, 0).counts.at("iteration_end") == 11);
  CHECK(notes_of(place, 1).counts.at("iteration_end") == 11);
  for (auto event : {"snapshot_begin", "snapshot_end"})
    CHECK(notes_of(place, 1).counts.at(event) == notes_of(place, 0).counts.at(event));
}

TEST_CASE("what a hook throws ends the run, and hooks hear of it") {
  const TempRun place(every_point("throw_at = 5\n"));
  const auto failed = place.train({"--run-dir", "run"});
  CHECK_EXIT(failed, 2);
  CHECK_SAYS(failed, "hook every_point, at step of iteration 5: as the test wants it");
  CHECK(notes_of(place).lines.back() == "exception 4 0 16");
}

TEST_CASE("hooks in their order, and those that cannot be") {
  const auto listing = [](const std::string& more) {
    return TempRun(with_plugins({"distance", "edges", "gradient_noise"}, tiny_with(more))).run({"hooks", "tiny.toml"});
  };
  const auto listed =
      listing("[[hook]]\nname = \"norms\"\n[[hook]]\nname = \"gradient_noise\"\npriority = 10\nranks = \"first\"\n");
  REQUIRE_EXIT(listed, 0);
  CHECK(listed.out ==
        "backward          gradient_noise (10, first rank), norms (50)\niteration_end     gradient_noise (10, first "
        "rank)\n");
  CHECK_PRINTS(listing(""), "no hooks: [[hook]] adds some");
  const auto refused = [&](const std::string& more, const Words& texts) {
    const auto outcome = listing(more);
    CHECK_EXIT(outcome, 2);
    for (auto& text : texts) CHECK_SAYS(outcome, text);
  };
  refused("[[hook]]\nname = \"norm\"\n", {"tiny.toml:29:1: hook.0.name: no hook is called 'norm'",
                                          "did you mean 'norms'? known: gradient_noise, norms, stop_file"});
  refused("[[hook]]\npriority = 3\n", {"tiny.toml:28:1: hook.0.name: must be given"});
  refused("[[hook]]\nname = \"norms\"\n[[hook]]\nname = \"norms\"\n", {"hook.1.name: another [[hook]] is called so"});
  refused("[[hook]]\nname = \"stop_file\"\n", {"tiny.toml:28:1: hook.0.file: must be given"});
  // Names of other kinds' parts.
  refused("[[hook]]\nname = \"distance\"\n", {"hook.0.name: no hook is called 'distance'"});
  refused("[step]\nname = \"gradient_noise\"\n", {"step.name: no training step is called 'gradient_noise'"});
  refused("[[hook]]\nname = \"edges\"\n", {"hook.0.name: no hook is called 'edges'"});
  refused("[[hook]]\nname = \"gradient_noise\"\netta = 1\n",
          {"tiny.toml:30:1: unknown key 'hook.0.etta'; did you mean 'hook.0.eta'?"});
  refused("[[hook]]\nname = \"norms\"\neta = 1\n",
          {"tiny.toml:30:1: hook.0.eta: the hook 'norms' has no such key", "it is a key of the hook gradient_noise"});
  refused("[[hook]]\nname = \"gradient_noise\"\neta = \"much\"\n", {"tiny.toml:30:1: hook.0.eta: expected a number"});
  refused("[step]\nname = \"gann\"\n", {"step.name: no training step is called 'gann'", "did you mean 'gan'?"});
  refused("[step]\nname = \"gan\"\n", {"step.name: gan: this step needs net.name"});
}

TEST_CASE("the built-in hooks and the example plugins") {
  const TempRun norms(tiny_with("[[hook]]\nname = \"norms\"\nevery = 5\ndepth = 2\n"));
  trained(norms);
  const auto line = metrics_of(norms.path("run"), "train").back();
  for (auto key : {"weight_norm.layers.0", "grad_norm.layers.0", "weight_norm.layers.1", "grad_norm.layers.1"})
    CHECK(line.at(key) > 0);

  const TempRun stop(tiny_with("[[hook]]\nname = \"stop_file\"\nfile = \"STOP\"\n"));
  stop.folder().write("STOP", "");
  const auto stopped = stop.train({"--run-dir", "run"});
  REQUIRE_EXIT(stopped, 0);
  CHECK_SAYS(stopped, "there is a file STOP");

  const auto noise = with_plugins({"gradient_noise"}, tiny_with("[[hook]]\nname = \"gradient_noise\"\neta = 0.001\n"));
  const TempRun noisy(noise), halves(noise);
  const auto whole = trained(noisy);
  CHECK(whole.params != trained(TempRun()).params);
  REQUIRE_EXIT(halves.train({"--run-dir", "run", "--max-iter", "31"}), 0);
  REQUIRE_EXIT(halves.train({"--run-dir", "run", "--resume", "auto"}), 0);
  CHECK(end_of(halves.path("run")) == whole);

  const TempRun distance(with_plugins({"distance"}, tiny_with("[step]\nname = \"distance\"\nweight = 0.5\n")));
  trained(distance);
  CHECK(metrics_of(distance.path("run"), "train").back().at("distance") > 0);
}

TEST_CASE("a generator and a discriminator, each with an optimizer of its own") {
  std::string config = tiny_config;
  for (auto& [from, to] : {std::pair<std::string, std::string>{"[net]\nname = \"mlp\"\nhidden = [32]\ndropout = 0.3\n",
                                                               "[net]\nname = \"gan\"\n"},
                           {"[optim]\nlr = 0.05\nmomentum = 0.9\n",
                            "[[optim]]\nname = \"adam\"\nlabel = \"d\"\nparams = '^discriminator'\nlosses = "
                            "[\"discriminator\"]\nlr = 2e-4\nbetas = [0.5, 0.999]\n"
                            "[[optim]]\nname = \"adam\"\nlabel = \"g\"\nparams = '^generator'\nlosses = "
                            "[\"generator\"]\nlr = 2e-4\nbetas = [0.5, 0.999]\nclip = 1.0\n"
                            "[step]\nname = \"gan\"\n[sampler]\nmean = [0.5, 0.5, 0.5]\nstddev = [0.5, 0.5, 0.5]\n"},
                           {"[val]\nevery = 20\n", "[val]\nevery = 20\nmetrics = []\n"}})
    config.replace(config.find(from), from.size(), to);
  const TempRun place(config);
  const auto whole = trained(place);
  const auto lines = metrics_of(place.path("run"), "train");
  for (auto key : {"loss.discriminator", "loss.generator", "real", "fake", "lr.d", "lr.g"})
    CHECK(lines.back().at(key).is_number());
  CHECK(lines.back().at("loss").get<double>() == doctest::Approx(lines.back().at("loss.discriminator").get<double>() +
                                                                 lines.back().at("loss.generator").get<double>()));
  CHECK(lines.back().at("real") > lines.back().at("fake"));
  CHECK(metrics_of(place.path("run"), "val").back().at("loss") < 1.386);  // 2 ln 2: better than chance

  REQUIRE_EXIT(place.train({"--run-dir", "halves", "--max-iter", "31"}), 0);
  REQUIRE_EXIT(place.train({"--run-dir", "halves", "--resume", "auto"}), 0);
  CHECK(end_of(place.path("halves")) == whole);

  // Every third iteration only; what is not computed is no metric.
  REQUIRE_EXIT(place.train({"--run-dir", "rare", "--set", "optim.1.every=3", "--set", "display.every=1"}), 0);
  const auto rare = metrics_of(place.path("rare"), "train");
  CHECK(rare.at(0).at("loss.generator").is_null());
  CHECK(rare.at(2).at("loss.generator").is_number());

  // Two processes see the same rows, half each: batch statistics differ, and so does the noise.
  REQUIRE_EXIT(place.train({"--run-dir", "two", "--distributed", "--world-size", "2"}), 0);
  CHECK(metrics_of(place.path("two"), "train").back().at("real").is_number());

  const auto refused = [&](const std::string& key, const std::string& words) {
    const auto outcome = place.train({"--run-dir", "refused", "--set", key});
    CHECK_EXIT(outcome, 2);
    CHECK_SAYS(outcome, words);
  };
  refused("optim.1.losses=[\"discriminator\"]", "no optimizer lowers 'generator'");
  refused("optim.1.losses=[\"generater\"]", "the step has no loss 'generater'");
  const auto idle = place.train({"--run-dir", "refused", "--set", "optim.0.every=2", "--set", "optim.1.every=2"});
  CHECK_EXIT(idle, 2);
  CHECK_SAYS(idle, "no optimizer is at work in every iteration");
}

}  // namespace flowtrain::hooks_test
