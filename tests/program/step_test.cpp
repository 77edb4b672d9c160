// The parts of a step that keys turn on: half precision, clipping, averages, accumulation.

#include <doctest/doctest.h>

#include <cmath>

#include "tests/program/ranks.h"
#include "tests/support/temp_run.h"

namespace flowtrain::step_test {
namespace {

/// A run in one go, and one that is stopped after 31 of its 60 iterations and goes on, end alike. Gives the former's
/// lines of kind `train`.
std::vector<nlohmann::json> survives_a_stop(const Words& changes) {
  const TempRun place;
  REQUIRE_EXIT(place.train(with({"--run-dir", "whole"}, changes)), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "halves", "--max-iter", "31"}, changes)), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "halves", "--resume", "auto"}, changes)), 0);
  CHECK(end_of(place.path("halves")) == end_of(place.path("whole")));
  return metrics_of(place.path("whole"), "train");
}

}  // namespace

TEST_CASE("half precision learns, and its scale survives") {
  const Words adam{"--set", "optim.name=adam", "--set", "optim.lr=0.002"};
  const double expected = survives_a_stop(adam).back().at("loss_avg");
  const auto lines = survives_a_stop(with({"--set", "train.amp=fp16"}, adam));
  CHECK(lines.back().at("loss_avg").get<double>() == doctest::Approx(expected).epsilon(0.01));
  for (auto& line : lines) CHECK(line.at("loss_scale") == 65536);
  const auto brain = survives_a_stop(with({"--set", "train.amp=bf16"}, adam));
  CHECK(brain.back().at("loss_avg").get<double>() == doctest::Approx(expected).epsilon(0.05));
  CHECK_FALSE(brain.back().contains("loss_scale"));
}

TEST_CASE("gradients too large for their scale lower it, and are no fault") {
  // Pictures of huge values make large gradients.
  const Words large{"--set", "train.amp=fp16", "--set", "optim.lr=1e-6", "--set", "sampler.stddev=[0.01, 0.01, 0.01]"};
  const auto lines = survives_a_stop(large);
  CHECK(lines.back().at("loss_scale") < 65536);
  const TempRun place;
  REQUIRE_EXIT(place.train(with({"--run-dir", "run"}, large)), 0);
  const auto skips = metrics_of(place.path("run"), "nonfinite");
  REQUIRE_FALSE(skips.empty());
  for (auto& skip : skips) CHECK(skip.at("recovery") == "scaled down");
  CHECK(65536 / std::pow(2, skips.size()) == lines.back().at("loss_scale"));
  const auto refused = place.train(with({"--run-dir", "few", "--set", "train.max_nonfinite=1"}, large));
  CHECK_EXIT(refused, 5);
  CHECK_SAYS(refused, "1 in a row, each with half the loss's scale of the one before");
}

TEST_CASE("gradients are clipped in any of the ways, and the share is told") {
  for (const std::string by : {"norm", "value", "adaptive"}) {
    const auto lines = survives_a_stop({"--set", "train.clip_by=" + by, "--set", "train.clip=1e-4"});
    CHECK(lines.back().at("clipped") == 1.0);
  }
  CHECK(survives_a_stop({"--set", "train.clip=1e6"}).back().at("clipped") == 0.0);
  CHECK(survives_a_stop({"--set", "train.clip=1e-3", "--set", "train.clip_p=inf"}).back().at("clipped") == 1.0);
}

TEST_CASE("each value that a step or a hook logs has the mean of its last 20, also where the run goes on") {
  const Words each{"--set", "display.every=1"};
  const TempRun place(
      with_plugins({"every_point"}, std::string(tiny_config) + "[[hook]]\nname = \"every_point\"\nlog = \"notes\"\n"));
  REQUIRE_EXIT(place.train(with({"--run-dir", "whole", "--max-iter", "45"}, each)), 0);
  const auto lines = metrics_of(place.path("whole"), "train");
  REQUIRE(lines.size() == 45);
  for (const std::string name : {"loss", "grad_norm", "calls"}) {
    CAPTURE(name);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      double sum = 0;
      const std::size_t first = i < 20 ? 0 : i - 19;
      for (std::size_t j = first; j <= i; ++j) sum += lines[j].at(name).get<double>();
      CHECK(lines[i].at(name + "_avg").get<double>() ==
            doctest::Approx(sum / static_cast<double>(i + 1 - first)).epsilon(1e-9));
    }
  }
  CHECK_FALSE(lines.back().contains("lr_avg"));
  REQUIRE_EXIT(place.train(with({"--run-dir", "parts", "--max-iter", "31"}, each)), 0);
  REQUIRE_EXIT(place.train(with({"--run-dir", "parts", "--resume", "auto", "--max-iter", "45"}, each)), 0);
  const auto parts = metrics_of(place.path("parts"), "train");
  REQUIRE(parts.size() == 45);
  for (std::size_t i = 0; i < lines.size(); ++i)
    for (auto name : {"loss_avg", "grad_norm_avg"}) CHECK(parts[i].at(name) == lines[i].at(name));
}

TEST_CASE("loss_avg is the mean of the last 20 losses, and the record of a run says how long it was") {
  const TempRun place;
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--max-iter", "38", "--set", "display.every=1"}), 0);
  const auto lines = metrics_of(place.path("run"), "train");
  REQUIRE(lines.size() == 38);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    double sum = 0;
    const std::size_t first = i < 20 ? 0 : i - 19;
    for (std::size_t j = first; j <= i; ++j) sum += lines[j].at("loss").get<double>();
    CHECK(lines[i].at("loss_avg").get<double>() ==
          doctest::Approx(sum / static_cast<double>(i + 1 - first)).epsilon(1e-9));
  }
  const auto record = nlohmann::json::parse(read_text(place.path("run/result.json")));
  CHECK(record.at("epoch") == 2.0);  // of 19 iterations
  const auto saved = nlohmann::json::parse(read_text(place.path("run/snapshots/latest/state.json")));
  const double seconds = saved.at("elapsed_s");
  CHECK(seconds > 0);
  CHECK(record.at("seconds") >= seconds);
  REQUIRE_EXIT(place.train({"--run-dir", "run", "--resume", "auto", "--max-iter", "57"}), 0);
  const auto later = nlohmann::json::parse(read_text(place.path("run/result.json")));
  CHECK(later.at("epoch") == 3.0);
  CHECK(later.at("seconds") > seconds);  // of both
}

TEST_CASE("validation sees the weights' average") {
  survives_a_stop({"--set", "ema.decay=0.9"});
  const TempRun place;
  const auto loss = [&](const std::string& run, const Words& more) {
    REQUIRE_EXIT(place.train(with({"--run-dir", run}, more)), 0);
    return metrics_of(place.path(run), "val").back().at("loss").get<double>();
  };
  const double plain = loss("plain", {}),
               beside = loss("beside", {"--set", "ema.decay=0.99", "--set", "ema.validate=false"});
  const double average = loss("average", {"--set", "ema.decay=0.99"});
  CHECK(beside == plain);
  CHECK(average != plain);
  CHECK(end_of(place.path("average")) == end_of(place.path("plain")));  // the weights themselves are not touched
  REQUIRE_EXIT(place.run({"export", "average", "--out", "average.safetensors", "--average", "--snapshot", "latest"}),
               0);
  REQUIRE_EXIT(place.train({"--run-dir", "taken", "--initialize", "--set", "net.pretrain=average.safetensors"}), 0);
  const auto taken = place.run({"test", "taken", "--iter", "0"});
  REQUIRE_EXIT(taken, 0);
  CHECK(nlohmann::json::parse(taken.out).at("loss").get<double>() == doctest::Approx(average).epsilon(1e-9));
  const auto tested = place.run({"test", "average", "--iter", "60"});
  REQUIRE_EXIT(tested, 0);
  CHECK(nlohmann::json::parse(tested.out).at("loss").get<double>() == doctest::Approx(average).epsilon(1e-9));
}

TEST_CASE("a snapshot of the parameters alone has their average, too, as validation has measured it") {
  const TempRun place;
  const Words averaged{
      "--run-dir",       "run",   "--set",         "snapshot.save=[\"params\"]", "--set", "ema.decay=0.99", "--set",
      "optim.name=adam", "--set", "optim.lr=0.002"};
  REQUIRE_EXIT(place.train(averaged), 0);
  const double measured = metrics_of(place.path("run"), "val").back().at("loss");
  const auto tested = place.run({"test", "run", "--iter", "60"});
  REQUIRE_EXIT(tested, 0);
  CHECK(nlohmann::json::parse(tested.out).at("loss").get<double>() == doctest::Approx(measured).epsilon(1e-9));
  REQUIRE_EXIT(place.run({"export", "run", "--out", "average.safetensors", "--average"}), 0);
  // The average goes on; the optimizer begins anew.
  const Words further{"--resume", "auto", "--max-iter", "61", "--accept-changes", "--set", "val.every=1"};
  REQUIRE_EXIT(place.train(with(averaged, further)), 0);
  const double next = metrics_of(place.path("run"), "val").back().at("loss");
  CHECK(next != measured);
  CHECK(next == doctest::Approx(measured).epsilon(0.05));
}

TEST_CASE("accumulated batches make the step of one large batch") {
  const TempRun place;
  const auto losses = [&](const std::string& run, const Words& more) {
    REQUIRE_EXIT(place.train(with({"--run-dir", run, "--set", "net.dropout=0", "--set", "data.samples=320"}, more)), 0);
    return metrics_of(place.path(run), "train");
  };
  const auto large = losses("large", {}),
             small = losses("small", {"--set", "loader.batch=4", "--set", "train.accum=4"});
  REQUIRE(large.size() == small.size());
  for (std::size_t i = 0; i < large.size(); ++i)
    CHECK(std::abs(large[i].at("loss").get<double>() - small[i].at("loss").get<double>()) < 1e-6);
}

TEST_CASE("a short batch at an epoch's end weighs by its rows among those that are accumulated") {
  const TempRun place;
  const auto first = [&](const std::string& run, const Words& more) {
    const Words alike{"--run-dir",  run,
                      "--max-iter", "1",
                      "--set",      "net.dropout=0",
                      "--set",      "data.samples=60",
                      "--set",      "display.every=1",
                      "--set",      "loader.last_batch=pad"};
    REQUIRE_EXIT(place.train(with(alike, more)), 0);
    return metrics_of(place.path(run), "train").at(0);
  };
  const auto large = first("large", {"--set", "loader.batch=60"});
  const auto same = [&](const nlohmann::json& line) {
    CHECK(std::abs(line.at("loss").get<double>() - large.at("loss").get<double>()) < 1e-6);
    CHECK(line.at("grad_norm").get<double>() == doctest::Approx(large.at("grad_norm").get<double>()).epsilon(1e-5));
  };
  same(first("even", {"--set", "loader.batch=20", "--set", "train.accum=3"}));
  const Words uneven{"--set", "loader.batch=25", "--set", "train.accum=3"};  // 25, 25, 10
  same(first("uneven", uneven));
  same(first("several", with(uneven, {"--distributed", "--world-size", "3"})));
}

TEST_CASE("labels that are ignored do not count, in accumulated batches, several processes and validations") {
  const TempRun place;
  check_means_over_what_counts(place, {"--set", "loss.ignore_index=0", "--set", "net.dropout=0"});
  const auto tested = place.run({"test", "whole", "--iter", "12"});
  REQUIRE_EXIT(tested, 0);
  CHECK(nlohmann::json::parse(tested.out).at("loss") == metrics_of(place.path("whole"), "val").back().at("loss"));
}

TEST_CASE("an optimizer that updates once for several iterations steps as with one large batch") {
  survives_a_stop({"--set", "optim.accum=4"});  // stopped amid four of them
  survives_a_stop(
      {"--set", "optim.accum=3", "--set", "train.amp=fp16", "--set", "optim.name=adam", "--set", "optim.lr=0.002"});
  const TempRun place;
  const auto losses = [&](const std::string& run, const Words& more) {
    const Words alike{"--run-dir",        run,     "--set",          "net.dropout=0", "--set",
                      "data.samples=320", "--set", "display.every=1"};
    REQUIRE_EXIT(place.train(with(with(alike, {"--set", "optim.lr_base_batch=32"}), more)), 0);
    return metrics_of(place.path(run), "train");
  };
  const auto large = losses("large", {"--max-iter", "15"});
  const auto small = losses("small", {"--set", "loader.batch=4", "--set", "optim.accum=4"});
  REQUIRE(small.size() == 4 * large.size());
  for (std::size_t i = 0; i < large.size(); ++i) {
    double mean = 0;
    for (std::size_t part = 0; part < 4; ++part) mean += small[4 * i + part].at("loss").get<double>() / 4;
    CHECK(std::abs(large[i].at("loss").get<double>() - mean) < 1e-6);
    CHECK(large[i].at("lr") == small[4 * i].at("lr"));
  }
}

}  // namespace flowtrain::step_test
