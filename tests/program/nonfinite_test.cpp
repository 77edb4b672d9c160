// A loss or gradient that is not finite: the run ends, leaves the update out, or goes back.

#include <doctest/doctest.h>

#include "tests/support/temp_run.h"

namespace flowtrain::nonfinite_test {
namespace {

/// A warm-up from a rate that blows the weights up in its first iterations, and is over after six.
Words blow_up(const Words& more) {
  Words words{"--set", "lr.warmup={length = 6, mode = \"fix\", init_lr = 1e25}",
              "--set", "val.every=0",
              "--set", "snapshot.every=9"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("a loss that is not finite ends the run, naming the iteration, the samples, and how to see them") {
  const TempRun place;
  const auto outcome = place.train(blow_up({}));
  CHECK_EXIT(outcome, 5);
  for (auto text :
       {"at iteration ", "samples of its last batch: ", "optim.lr", "runs/tiny --find-nan` names the sample"})
    CHECK_SAYS(outcome, text);
  CHECK(metrics_of(place.path("runs/tiny"), "snapshot").empty());
}

TEST_CASE("a gradient that is not finite counts as a loss that is not, also where the loss is") {
  const std::string hook = "[[hook]]\nname = \"every_point\"\nlog = \"notes\"\ninfinite_at = 7\n";
  const TempRun place(with_plugins({"every_point"}, tiny_config + hook));
  const auto stopped = place.train({"--run-dir", "stopped"});
  CHECK_EXIT(stopped, 5);
  CHECK_SAYS(stopped, "at iteration 7");
  CHECK_SAYS(stopped, "the gradients' norm is inf");
  const auto skipped = place.train({"--run-dir", "skipped", "--set", "train.nonfinite=skip"});
  REQUIRE_EXIT(skipped, 0);
  const auto lines = metrics_of(place.path("skipped"), "nonfinite");
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].at("iter") == 7);
  CHECK(lines[0].at("loss").is_number());
  CHECK(lines[0].at("grad_norm").is_null());
  CHECK(metrics_of(place.path("skipped"), "train").back().at("loss").is_number());
}

TEST_CASE("weights that stay broken end a run that skips, too") {
  const TempRun place;
  const auto outcome = place.train(blow_up({"--set", "train.nonfinite=skip", "--set", "train.max_nonfinite=4"}));
  CHECK_EXIT(outcome, 5);
  CHECK_SAYS(outcome, "this update is skipped");
  CHECK_SAYS(outcome, "4 in a row were skipped");
  CHECK(metrics_of(place.path("runs/tiny"), "nonfinite").size() == 4);
}

TEST_CASE("a run that rolls back gets over a bad stretch, in the same way when it is interrupted") {
  const Words settings = blow_up({"--set", "train.nonfinite=rollback", "--set", "train.rollback_lr=0.9"});
  const TempRun place;
  const auto outcome = place.train(settings);
  REQUIRE_EXIT(outcome, 0);
  CHECK_SAYS(outcome, "the weights go back to those of iteration 0");
  const auto rollbacks = metrics_of(place.path("runs/tiny"), "nonfinite");
  REQUIRE_FALSE(rollbacks.empty());
  for (auto& line : rollbacks) CHECK(line.at("recovery") == "rolled back");
  const auto trained = metrics_of(place.path("runs/tiny"), "train").back();
  CHECK(trained.at("loss").is_number());
  CHECK(trained.at("lr").get<double>() < 0.05);

  const TempRun again;
  Words part = settings;
  part.insert(part.end(), {"--max-iter", "4"});
  REQUIRE_EXIT(again.train(part), 0);
  Words rest = settings;
  rest.insert(rest.end(), {"--resume", "auto"});
  REQUIRE_EXIT(again.train(rest), 0);
  CHECK(end_of(again.path("runs/tiny")) == end_of(place.path("runs/tiny")));
}

}  // namespace flowtrain::nonfinite_test
