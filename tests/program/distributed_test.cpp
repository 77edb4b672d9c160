// Several processes train as one does: local ranks on loopback, with Gloo.

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <regex>
#include <sstream>

#include "sampling/core/text.h"
#include "tests/program/picture_files.h"
#include "tests/program/ranks.h"

namespace flowtrain::distributed_test {

namespace {

const Words two_ranks{"--distributed", "--world-size", "2"};

}  // namespace

TEST_CASE("each process keeps a log; the console has what the first says, and warnings of the others") {
  const TempRun place;
  const Words two = with(two_ranks, {"--run-dir", "run", "--max-iter"});
  const auto first = place.train(with(two, {"10"}));
  REQUIRE_EXIT(first, 0);
  CHECK_SAYS(first, "rank 0 of 2, 2 of them on this machine; they connect at tcp://");
  const std::string done = "done: iteration 10 (10 in ";
  CHECK(times_in(first.err, done) == 1);
  const auto log = [&] { return read_text(place.path("run/logs/rank-1.log")); };
  CHECK(times_in(log(), done) == 1);
  CHECK(std::regex_search(
      log(), std::regex("\n\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d\\.\\d{3} info    done: iteration 10")));
  CHECK(log().find(" debug   iter 5/10") != std::string::npos);
  CHECK(log().find("samples/s") == std::string::npos);  // the first process counts those of all
  CHECK(times_in(read_text(place.path("run/train.log")), done) == 1);
  CHECK_FALSE(fs::exists(place.path("run/logs/rank-0.log")));

  REQUIRE_EXIT(place.train(with(two, {"20", "--resume", "auto"})), 0);
  CHECK(times_in(log(), done) == 1);
  CHECK(times_in(log(), "done: iteration 20 (10 in ") == 1);

  // Where it has no place for its log it warns, and goes on.
  fs::remove_all(place.path("run/logs"));
  place.folder().write("run/logs", "a file");
  const auto taken = place.train(with(two, {"30", "--resume", "auto"}));
  REQUIRE_EXIT(taken, 0);
  CHECK_SAYS(taken, "warning: cannot open the log file");
  CHECK_SAYS(taken, "run/logs/rank-1.log");
}

TEST_CASE("several processes try a run together, and leave nothing behind") {
  const TempRun place(
      with_plugins({"every_point"}, std::string(tiny_config) + "[[hook]]\nname = \"every_point\"\nlog = \"notes\"\n"));
  REQUIRE_EXIT(train(place, 1, "run", {"--max-iter", "10"}), 0);
  fs::remove(place.path("notes.0"));
  const Words few = with(two_ranks, {"--set", "net.dropout=0.0", "--max-iter", "10"});
  const auto dry = place.train(with(few, {"--dry-run"}));
  REQUIRE_EXIT(dry, 0);
  CHECK_SAYS(dry, "rank 0 of 2");
  CHECK(times_in(dry.err, "order_xxh64 " + end_of(place.path("run")).order) == 1);
  for (const std::string flag : {"--no-optim", "--no-optim=backward", "--fast-dev-run"}) {
    CAPTURE(flag);
    for (auto rank : {"notes.0", "notes.1"}) fs::remove(place.path(rank));
    const auto tried = place.train(with(few, {flag, "--set", "display.every=1", "--set", "run.seed=\"random\""}));
    REQUIRE_EXIT(tried, 0);
    CHECK_SAYS(tried, flag == "--fast-dev-run" ? "iter 3/3" : "iter 10/10");
    for (auto rank : {"notes.0", "notes.1"}) {
      const std::string notes = read_text(place.path(rank));
      CHECK(notes.find("\nloss 3 ") != std::string::npos);
      CHECK((notes.find("\nbackward 3 ") != std::string::npos) == (flag != "--no-optim"));
      CHECK((notes.find("\nstep 3 ") != std::string::npos) == (flag == "--fast-dev-run"));
    }
  }
  CHECK_FALSE(fs::exists(place.path("runs")));
  // The loss is that of all rows: the same as in one process.
  const auto losses = [&](const Words& words) {
    const auto tried = place.train(with({"--no-optim", "--max-iter", "3", "--set", "display.every=1", "--set",
                                         "net.dropout=0.0", "--progress", "plain"},
                                        words));
    REQUIRE_EXIT(tried, 0);
    std::vector<std::string> all;
    const std::regex loss(R"(loss (\S+))");
    for (std::sregex_iterator at(tried.err.begin(), tried.err.end(), loss), end; at != end; ++at)
      all.push_back((*at)[1]);
    return all;
  };
  const auto one = losses({});
  CHECK(one.size() >= 3);
  CHECK(losses(two_ranks) == one);
}

TEST_CASE(
    "a start of several processes that fails leaves no log behind, no run, and no record of what they said to each "
    "other") {
  const TempRun place;
  for (int i = 0; i < 3; ++i) {
    CHECK_EXIT(place.train(with(two_ranks, {"--run-dir", "none", "--set", "data.dataset=image_folder", "--set",
                                            "data.path=nowhere"})),
               3);
    CHECK_FALSE(fs::exists(place.path("none")));
    CHECK_EXIT(place.train(with(two_ranks, {"--run-dir", "none", "--set", "net.name=nosuch"})), 2);
    CHECK_FALSE(fs::exists(place.path("none")));
  }
}

TEST_CASE("two, three and four processes see the batches of one, and end with its parameters") {
  const TempRun place;
  const Words accumulated{"--set", "train.accum=2", "--max-iter", "30"};
  for (const Words& more : {Words{}, accumulated}) {
    const std::string name = more.empty() ? "plain-" : "accum-";
    REQUIRE_EXIT(train(place, 1, name + "1", more), 0);
    const auto one = end_of(place.path(name + "1"));
    for (int world : {2, 3, 4}) {
      CAPTURE(world);
      const std::string run = name + std::to_string(world);
      REQUIRE_EXIT(train(place, world, run, more), 0);
      CHECK(end_of(place.path(run)).order == one.order);
      CHECK(difference(place, name + "1", run) < 1e-5);
      const auto single = metrics_of(place.path(name + "1"), "val"), several = metrics_of(place.path(run), "val");
      REQUIRE(single.size() == several.size());
      for (std::size_t i = 0; i < single.size(); ++i) {
        CHECK(several[i].at("accuracy") == single[i].at("accuracy"));
        CHECK(several[i].at("loss").get<double>() == doctest::Approx(single[i].at("loss").get<double>()).epsilon(1e-5));
      }
    }
  }
}

TEST_CASE("a batch that the processes cannot share evenly, and a validation with fewer rows than processes") {
  const TempRun place;
  const Words odd{"--set", "loader.batch=7",   "--set", "loader.last_batch=pad",
                  "--set", "data.samples=101", "--set", "data.val_samples=13",
                  "--set", "val.batch=4"};
  REQUIRE_EXIT(train(place, 1, "one", odd), 0);
  REQUIRE_EXIT(train(place, 4, "four", odd), 0);
  CHECK(end_of(place.path("four")).order == end_of(place.path("one")).order);
  CHECK(difference(place, "one", "four") < 1e-5);
  CHECK(metrics_of(place.path("four"), "val").back().at("accuracy") ==
        metrics_of(place.path("one"), "val").back().at("accuracy"));
  const auto refused = train(place, 4, "none", {"--set", "loader.batch=3"});
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "a batch of 3 rows for 4 processes");
}

TEST_CASE("an optimizer that rests, and a short last batch, train several processes as one") {
  std::string config = tiny_config;
  const std::string one = "[optim]\nlr = 0.05\nmomentum = 0.9\n";
  REQUIRE(config.find(one) != std::string::npos);
  config.replace(config.find(one), one.size(),
                 "[[optim]]\nlabel = \"a\"\nparams = 'layers.0'\nlr = 0.05\nmomentum = 0.9\nevery = 2\n"
                 "[[optim]]\nlabel = \"b\"\nparams = 'layers.1'\nlr = 0.05\nclip = 0.1\naccum = 3\n");
  const TempRun place(config);
  const Words uneven{"--set", "train.accum=2",    "--set",      "loader.last_batch=pad",
                     "--set", "data.samples=101", "--max-iter", "21",
                     "--set", "display.every=1"};
  REQUIRE_EXIT(train(place, 1, "one", uneven), 0);
  REQUIRE_EXIT(train(place, 3, "three", uneven), 0);
  CHECK(end_of(place.path("three")).order == end_of(place.path("one")).order);
  CHECK(difference(place, "one", "three") < 1e-5);
  const auto single = metrics_of(place.path("one"), "train"), several = metrics_of(place.path("three"), "train");
  REQUIRE(single.size() == several.size());
  for (std::size_t i = 0; i < single.size(); ++i)
    for (auto key : {"loss", "grad_norm"})
      CHECK(several[i].at(key).get<double>() == doctest::Approx(single[i].at(key).get<double>()).epsilon(1e-3));
}

// Parameters are not compared: in a residual net whose sums round differently (one thread or two, in one process, is
// enough) they part within a few steps.
TEST_CASE("with batch norm over all processes a residual net has the losses and the gradients of one process") {
  const TempRun place;
  const Words resnet{"--set",      "net.name=resnet18",
                     "--set",      "data.size=64",
                     "--set",      "data.samples=64",
                     "--set",      "optim.lr=0.001",
                     "--max-iter", "2",
                     "--set",      "display.every=1",
                     "--quiet",    "--run-dir"};
  REQUIRE_EXIT(place.train(with(resnet, {"one"})), 0);
  REQUIRE_EXIT(place.train(with(with(resnet, {"two", "--set", "dist.sync_batch_norm=true"}), two_ranks)), 0);
  REQUIRE_EXIT(place.train(with(with(resnet, {"apart"}), two_ranks)), 0);
  const auto scalar = [&](const std::string& run, std::size_t line, const char* key) {
    return metrics_of(place.path(run), "train").at(line).at(key).get<double>();
  };
  const auto apart = [&](const std::string& run, std::size_t line, const char* key) {
    return std::abs(scalar(run, line, key) / scalar("one", line, key) - 1);
  };
  CHECK(apart("two", 0, "loss") < 1e-6);
  CHECK(apart("two", 0, "grad_norm") < 1e-3);
  CHECK(apart("two", 1, "loss") < 1e-3);
  CHECK(apart("apart", 0, "loss") > 1e-3);
}

TEST_CASE("what half precision cannot hold is skipped by all, whoever met it") {
  // The first process alone multiplies its loss: its gradients overflow, the other's do not.
  const std::string hook =
      "[[hook]]\nname = \"every_point\"\nlog = \"notes\"\nloss_factor = 3000.0\nranks = \"first\"\n";
  const TempRun place(with_plugins({"every_point"}, tiny_config + hook));
  const Words half{"--set", "train.amp=fp16", "--set", "optim.lr=1e-6", "--set", "display.every=1"};
  REQUIRE_EXIT(train(place, 2, "two", half), 0);  // ends only if the parameters of both are the same
  const auto skips = metrics_of(place.path("two"), "nonfinite");
  REQUIRE_FALSE(skips.empty());
  for (auto& skip : skips) CHECK(skip.at("recovery") == "scaled down");
  CHECK(metrics_of(place.path("two"), "train").back().at("loss_scale") == 65536 / std::pow(2, skips.size()));
  REQUIRE_EXIT(train(place, 2, "again", half), 0);
  CHECK(end_of(place.path("again")) == end_of(place.path("two")));
  // Each noted the steps that it made.
  const auto steps = [&](int rank) {
    return times_in(read_text(place.path("notes." + std::to_string(rank))), "step ");
  };
  CHECK(steps(0) == 2 * (60 - skips.size()));
}

TEST_CASE("a parameter that takes no part in the loss") {
  const TempRun place;
  const Words spare =
      with(opening({"own_net"}), {"--set", "net.name=own_net", "--set", "net.spare=true", "--quiet", "--run-dir"});
  const auto refused = place.train(with(spare, with({"refused"}, two_ranks)));
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "parameters that take no part in the loss: spare");
  CHECK_SAYS(refused, "dist.find_unused = true");
  REQUIRE_EXIT(place.train(with(spare, {"one"})), 0);
  REQUIRE_EXIT(place.train(with(with(spare, {"two", "--set", "dist.find_unused=true"}), two_ranks)), 0);
  CHECK(end_of(place.path("two")).order == end_of(place.path("one")).order);
  CHECK(difference(place, "one", "two") < 1e-5);
}

TEST_CASE("dropout draws other masks in each process, unless all are to draw the same") {
  const TempRun place;
  const Words kept = with(opening({"own_net"}), {"--set", "net.name=own_net", "--quiet", "--run-dir"});
  const auto shares = [&](const std::string& run, const Words& more) {
    REQUIRE_EXIT(place.train(with(kept, with({run}, more))), 0);
    std::vector<double> all;
    for (auto& line : metrics_of(place.path(run), "train")) all.push_back(line.at("kept"));
    return all;
  };
  // The first process draws what one alone draws: their mean is the same only if the other one does so, too.
  const auto one = shares("one", {});
  CHECK(shares("again", {}) == one);
  const auto two = shares("two", two_ranks);
  REQUIRE(two.size() == one.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(two[i] != doctest::Approx(one[i]).epsilon(1e-5));
    CHECK(two[i] == doctest::Approx(1).epsilon(0.1));
  }
  // Two with the same draws make the masks that one with half of the rows makes.
  const auto half = shares("half", {"--set", "loader.batch=8"});
  const Words same = with(two_ranks, {"--set", "dist.same_draws=true"});
  const auto alike = shares("same", same);
  REQUIRE(alike.size() == half.size());
  for (std::size_t i = 0; i < half.size(); ++i) CHECK(alike[i] == doctest::Approx(half[i]).epsilon(1e-6));
  shares("parts", with(same, {"--max-iter", "31"}));
  const auto other = place.train(with(kept, with({"parts", "--resume", "auto"}, two_ranks)));
  CHECK_EXIT(other, 2);
  CHECK_SAYS(other, "changes that break exact resume: dist.same_draws");
  shares("parts", with(same, {"--resume", "auto"}));
  CHECK(metrics_of(place.path("parts"), "end").back().at("params_xxh64") ==
        metrics_of(place.path("same"), "end").back().at("params_xxh64"));
}

TEST_CASE("processes may open as many files as the system allows") {
  const TempRun place;
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const rlimit few{std::min<rlim_t>(200, before.rlim_max), before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  Process process(with({"tiny.toml", "--quiet", "--run-dir", "run", "--max-iter", "100000"}, two_ranks),
                  place.process_options());
  ::setrlimit(RLIMIT_NOFILE, &before);
  REQUIRE(process.wait_for_text("\"snapshot\"", place.path("run/metrics.jsonl")));
  for (int rank : {0, 1}) {
    std::istringstream limits(read_text(concat("/proc/", rank_process("run", rank), "/limits")));
    std::string line, soft, hard, word;
    while (std::getline(limits, line) && !line.starts_with("Max open files")) {
    }
    std::istringstream(line) >> word >> word >> word >> soft >> hard;
    CHECK(soft == hard);
    CHECK(soft != "200");
  }
  process.send(SIGTERM);
  CHECK_EXIT(process.wait(), 143);
}

TEST_CASE("times are those of the slowest process" * doctest::test_suite("nightly alone")) {
  const auto config = [](int rank) {
    return with_plugins({"every_point"}, concat(tiny_config, "[[hook]]\nname = \"every_point\"\nlog = \"notes\"\n",
                                                "slow_ms = 200\nslow_rank = ", rank, "\n"));
  };
  for (int rank : {0, 1}) {
    CAPTURE(rank);
    const TempRun place(config(rank));
    REQUIRE_EXIT(train(place, 2, "run", {"--max-iter", "10"}), 0);
    for (auto& line : metrics_of(place.path("run"), "train")) {
      CHECK(line.at("step_time") >= 0.2);
      CHECK(line.at("slowest_rank") == rank);
    }
  }
}

TEST_CASE("gradients that travel with half the bits") {
  const TempRun place;
  REQUIRE_EXIT(train(place, 1, "one"), 0);
  for (const std::string type : {"fp16", "bf16"}) {
    REQUIRE_EXIT(train(place, 2, type, {"--set", "dist.compress=" + type}), 0);
    CHECK(end_of(place.path(type)).order == end_of(place.path("one")).order);
    CHECK(difference(place, "one", type) < 0.02);
    CHECK(end_of(place.path(type)).params != end_of(place.path("one")).params);
  }
}

TEST_CASE("a run goes on with another number of processes, in the same order") {
  const TempRun place;
  REQUIRE_EXIT(train(place, 1, "one"), 0);
  REQUIRE_EXIT(train(place, 4, "some", {"--max-iter", "20"}), 0);
  REQUIRE_EXIT(train(place, 3, "some", {"--max-iter", "40", "--resume", "auto"}), 0);
  const auto log = [&] { return read_text(place.path("some/train.log")); };
  CHECK(times_in(log(), "rank 0 of 3, 3 of them on this machine; they connect at ") == 1);
  CHECK(times_in(log(), "processes now: 3; when the snapshot was made: 4") == 1);
  REQUIRE_EXIT(train(place, 1, "some", {"--resume", "auto"}), 0);
  CHECK(times_in(log(), "processes now: 1; when the snapshot was made: 3") == 1);
  CHECK(times_in(log(), "processes now: ") == 2);
  CHECK(end_of(place.path("some")).order == end_of(place.path("one")).order);
  CHECK(difference(place, "one", "some") < 1e-5);
}

TEST_CASE("a batch that grows with the number of processes") {
  const TempRun place;
  const Words each{"--set", "loader.batch_per_rank=8"}, any{"--resume", "auto", "--set", "resume.world=any"};
  REQUIRE_EXIT(train(place, 1, "one", {"--set", "loader.batch=24", "--max-iter", "30"}), 0);
  REQUIRE_EXIT(train(place, 3, "some", with(each, {"--max-iter", "30"})), 0);
  CHECK(end_of(place.path("some")).order == end_of(place.path("one")).order);
  CHECK(read_text(place.path("some/config.toml")).find("\nbatch = 24") != std::string::npos);

  const auto refused = train(place, 2, "some", with(each, {"--resume", "auto"}));
  CHECK_EXIT(refused, 2);
  CHECK_SAYS(refused, "changes that break exact resume: loader.batch");
  CHECK_SAYS(refused, "resume.world = \"any\"");
  REQUIRE_EXIT(train(place, 2, "some", with(each, any)), 0);
  CHECK(read_text(place.path("some/config.toml")).find("\nbatch = 16") != std::string::npos);

  const auto both = train(place, 2, "both", with(each, {"--set", "loader.batch=8"}));
  CHECK_EXIT(both, 2);
  CHECK_SAYS(both, "loader.batch is given too");
}

TEST_CASE("several processes end with the weights of the best snapshot where that is asked for") {
  const TempRun place;
  const Words best{"--set",      "snapshot.end_with_best=true",
                   "--set",      "val.every=15",
                   "--set",      "val.metrics=[\"loss\"]",
                   "--set",      "optim.lr=0.3",
                   "--max-iter", "47"};
  REQUIRE_EXIT(train(place, 2, "two", best), 0);
  const auto result = nlohmann::json::parse(read_text(place.path("two/result.json")));
  CHECK(result.at("weights_of") == result.at("best").at("iteration"));
  CHECK(metrics_of(place.path("two"), "end").size() == 1);
}

TEST_CASE("a rank that is started with other flags or periods than rank 0 is refused, and none waits") {
  const TempRun place;
  ProcessOptions here = place.process_options();
  here.environment = {{"GLOO_SOCKET_IFNAME", "lo"}};
  const auto refused = [&](const std::string& run, const Words& flags, const std::string& words) {
    const Words rank{"tiny.toml",    "--run-dir", run,          "--distributed",
                     "--world-size", "2",         "--dist-url", "file://" + place.path("meeting-" + run).string(),
                     "--rank"};
    Process one(with(with(rank, {"1"}), flags), here);
    const auto zero = run_program(with(rank, {"0"}), here);
    const auto other = one.wait();
    CHECK_EXIT(other, 2);
    CHECK(zero.code > 0);
    const std::string said = zero.err + other.err;
    CHECK_MESSAGE(said.find(words) != std::string::npos, said);
  };
  refused("flags", {"--profile"}, "--profile is given to some ranks only");
  refused("periods", {"--set", "display.every=7"},
          "the configuration differs from that of rank 0: display.every = 7 (rank 0: 5)");
  place.folder().write("more.toml", "base = [\"tiny.toml\"]\n[[val.set]]\nname = \"more\"\n");
  const Words rank{"--run-dir",
                   "sets",
                   "--distributed",
                   "--world-size",
                   "2",
                   "--dist-url",
                   "file://" + place.path("meeting-sets").string(),
                   "--rank"};
  Process one(with(with({"tiny.toml"}, rank), {"1"}), here);
  const auto zero = run_program(with(with({"more.toml"}, rank), {"0"}), here);
  const auto other = one.wait();
  CHECK_EXIT(other, 2);
  CHECK_MESSAGE(zero.err.find("val.set.0.name = (none) (rank 0: \"more\")") != std::string::npos, zero);
}

TEST_CASE("a loss that is not finite is told once, with the samples of all processes") {
  const TempRun place;
  const Words broken{"--set", "optim.lr=1e25"};
  const auto samples = [](const Outcome& outcome) {
    CHECK_EXIT(outcome, 5);
    const auto at = outcome.err.find("samples of its last batch: ");
    REQUIRE(at != std::string::npos);
    CHECK(outcome.err.find("samples of its last batch: ", at + 1) == std::string::npos);
    return outcome.err.substr(at, outcome.err.find('\n', at) - at);
  };
  CHECK(samples(train(place, 3, "three", broken)) == samples(train(place, 1, "one", broken)));
}

TEST_CASE("two runs with as many processes are equal bit by bit, dropout and a seed that was drawn included") {
  const TempRun place;
  const Words two{"--quiet", "--distributed", "--world-size", "2"};
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "a", "--set", "run.seed=random"})), 0);
  const std::string stored = read_text(place.path("a/config.toml"));
  const auto at = stored.find("\nseed = ") + 8;
  const auto seed = stored.substr(at, stored.find_first_of(" \n", at) - at);
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "b", "--seed", seed})), 0);
  CHECK(end_of(place.path("a")) == end_of(place.path("b")));
}

TEST_CASE("bad samples of all processes are in the bad-sample log, and replaced as in one process") {
  const TempRun place(without_shapes());
  write_pictures(place.folder());
  place.folder().write("pictures/train/dog/0.jpg", "");
  place.folder().write("pictures/val/dog/4.jpg", "");
  const Words pictures = with(picture_count, {"--set", "data.max_bad=5", "--set", "val.every=5"});
  REQUIRE_EXIT(train(place, 1, "one", pictures), 0);
  const auto several = train(place, 3, "three", pictures);
  REQUIRE_EXIT(several, 0);
  CHECK(end_of(place.path("three")).order == end_of(place.path("one")).order);
  CHECK(read_text(place.path("three/bad_samples.jsonl")) == read_text(place.path("one/bad_samples.jsonl")));
  const auto reported = several.err.find("bad sample ");
  CHECK(several.err.find("train/dog/0.jpg", several.err.find("train/dog/0.jpg", reported) + 1) == std::string::npos);

  const auto stopped = train(place, 2, "stopped", with(picture_count, {"--set", "data.bad=stop"}));
  CHECK_EXIT(stopped, 3);
  CHECK_SAYS(stopped, ".jpg");
}

TEST_CASE("SIGTERM to one rank: all end together, with a snapshot, and the run goes on as if it had not been") {
  const TempRun place;
  const Words two{"--quiet", "--distributed", "--world-size", "2", "--max-iter", "1000"};
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "straight"})), 0);
  Process process(with({"tiny.toml"}, with(two, {"--run-dir", "stopped"})), place.process_options());
  REQUIRE(process.wait_for_text("\"snapshot\"", place.path("stopped/metrics.jsonl")));
  ::kill(rank_process("stopped", 1), SIGTERM);
  CHECK_EXIT(process.wait(), 143);
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "stopped", "--resume", "auto"})), 0);
  CHECK(end_of(place.path("stopped")) == end_of(place.path("straight")));
}

TEST_CASE("a rank that is killed ends the job with its name, or starts it again") {
  const TempRun place;
  const Words two{"--quiet", "--distributed", "--world-size", "2", "--max-iter", "1000"};
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "straight"})), 0);
  for (int rank : {0, 1}) {
    CAPTURE(rank);
    const std::string run = "killed-" + std::to_string(rank);
    for (bool restarts : {false, true}) {
      const Words more{"--run-dir", run, "--resume", "auto", "--max-restarts", restarts ? "1" : "0"};
      Process process(with({"tiny.toml"}, with(two, more)), place.process_options());
      REQUIRE(process.wait_for_text(restarts ? "\"resume\"" : "\"snapshot\"", place.path(run) / "metrics.jsonl"));
      ::kill(rank_process(run, rank), SIGKILL);
      const auto outcome = process.wait();
      CHECK_SAYS(outcome, "rank " + std::to_string(rank) + " was killed by SIGKILL");
      CHECK_EXIT(outcome, restarts ? 0 : 6);
    }
    CHECK(end_of(place.path(run)) == end_of(place.path("straight")));
  }
}

TEST_CASE("a job that starts again goes on with its own run, however it was started first") {
  const TempRun place;
  const Words two{"--quiet",    "--distributed", "--world-size", "2",
                  "--max-iter", "1000",          "--set",        "dist.max_restarts=1"};
  REQUIRE_EXIT(place.train(with(two, {"--run-dir", "straight"})), 0);
  REQUIRE_EXIT(place.train({"--quiet", "--max-iter", "10"}), 0);  // an earlier run of that name
  Process process(with({"tiny.toml"}, two), place.process_options());
  REQUIRE(process.wait_for_text("\"snapshot\"", place.path("runs/tiny-2/metrics.jsonl")));
  ::kill(rank_process("tiny.toml", 1), SIGKILL);
  CHECK_EXIT(process.wait(), 0);
  CHECK(end_of(place.path("runs/tiny-2")) == end_of(place.path("straight")));
  CHECK_FALSE(fs::exists(place.path("runs/tiny-3")));
}

TEST_CASE("a rank that stands still is named once the time is up") {
  const TempRun place;
  const Words two{"--quiet", "--distributed", "--world-size", "2", "--max-iter", "100000", "--set", "dist.timeout=30"};
  Process process(with({"tiny.toml"}, with(two, {"--run-dir", "stands"})), place.process_options());
  REQUIRE(process.wait_for_text("\"snapshot\"", place.path("stands/metrics.jsonl")));
  // Some heartbeats: between two lines of metrics that tell how long the store's answer took there was one.
  REQUIRE(process.wait_for([&] {
    const auto lines = metrics_of(place.path("stands"), "train");
    return std::ranges::count_if(lines, [](auto& line) { return line.at("link_time") > 0; }) >= 6;
  }));
  ::kill(rank_process("stands", 1), SIGSTOP);
  const auto outcome = process.wait();
  CHECK_EXIT(outcome, 6);
  CHECK_SAYS(outcome, "rank 1 on ");
  CHECK_SAYS(outcome, " does not answer any more, last seen at iteration ");
  CHECK(fs::exists(place.path("stands/collectives-rank0.jsonl")));
}

}  // namespace flowtrain::distributed_test
