#include <doctest/doctest.h>

#include <cmath>

#include "pipeline/engine/report/summary.h"
#include "pipeline/engine/verdict/model.h"
#include "pipeline/engine/verdict/sentence.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::verdict_test {

namespace {

/// A second in which the stages made `samples`; seconds of all their threads.
PipelineLoad load(double samples, double wait_s, double sample_s, unsigned workers, double read_s = 0,
                  unsigned readers = 1) {
  PipelineLoad load;
  load.wall_s = 1;
  load.wait_s = wait_s;
  load.samples = samples;
  load.cores = 64;
  if (read_s > 0) load.stages.push_back({Limit::read, readers, samples, read_s});
  load.stages.push_back({Limit::sample, workers, samples, sample_s});
  return load;
}

double speedup(const Verdict& verdict, const std::string& change) {
  for (auto& gain : verdict.gains)
    if (gain.change == change) return gain.speedup;
  return 0;
}

}  // namespace

TEST_CASE("what is busy for the greatest share of the time limits") {
  const auto computes = judge(load(100, 0.01, 1.2, 2));
  CHECK(computes.limit == Limit::compute);
  CHECK(computes.share == doctest::Approx(0.99));
  CHECK(computes.headspace.value() == doctest::Approx(1 / 0.99));
  CHECK(speedup(computes, "one more worker") < 1.02);
  CHECK(speedup(computes, "one more batch ahead") < 1.02);

  const auto samples = judge(load(100, 0.5, 1.94, 2, 0.5));
  CHECK(samples.limit == Limit::sample);
  CHECK(samples.share == doctest::Approx(0.97));
  CHECK(samples.headspace.value() == doctest::Approx(2));
  CHECK(speedup(samples, "one more worker") == doctest::Approx(1.5).epsilon(0.05));
  CHECK(speedup(samples, "one more reader") < 1.02);

  const auto reads = judge(load(100, 0.5, 1, 2, 2.95, 3));
  CHECK(reads.limit == Limit::read);
  CHECK(speedup(reads, "one more reader") == doctest::Approx(1.33).epsilon(0.05));
  CHECK(speedup(reads, "one more worker") < 1.02);

  CHECK(judge({}).limit == Limit::none);
  CHECK(judge({.wall_s = 1, .wait_s = 1, .samples = 5}).limit == Limit::none);
}

TEST_CASE("what one thread more gains ends at the next limit") {
  // A worker takes 10 ms a sample; compute takes 8, so no more than 125 a second come out.
  const auto verdict = judge(load(98, 0.216, 0.98, 1));
  CHECK(speedup(verdict, "one more worker") == doctest::Approx(1.25).epsilon(0.05));
  // Without data to wait for it is as much.
  CHECK(verdict.headspace.value() == doctest::Approx(1.28).epsilon(0.01));
}

TEST_CASE("threads that wait for one another gain less") {
  CHECK(gain_of_one_more(1, {}) == 2);
  CHECK(gain_of_one_more(2, {}) == 1.5);
  CHECK(gain_of_one_more(2, 0.5) == doctest::Approx(1.5).epsilon(0.01));
  CHECK(gain_of_one_more(2, 1) == doctest::Approx(1).epsilon(0.01));
  CHECK(gain_of_one_more(4, 0.75) == doctest::Approx(1.25).epsilon(0.01));
  const double half = gain_of_one_more(2, 0.7);
  CHECK(half > 1.03);
  CHECK(half < 1.25);
  CHECK(gain_of_one_more(2, 0.3) == doctest::Approx(1.5).epsilon(0.01));  // what cannot be, but is measured
  CHECK(gain_of_one_more(3, 1.2) == doctest::Approx(1).epsilon(0.01));

  auto locked = load(100, 0.5, 1.95, 2);
  locked.stages[0].without_one = 0.98;
  const auto verdict = judge(locked);
  CHECK(verdict.limit == Limit::sample);
  CHECK(verdict.contended);
  CHECK(speedup(verdict, "one more worker") < 1.05);
}

TEST_CASE("busy cores are what limits, and bound what a worker gains") {
  auto busy = load(100, 0.3, 1.98, 2);
  busy.cores = 2;
  busy.cpu_s = 1.96;
  const auto verdict = judge(busy);
  CHECK(verdict.limit == Limit::cores);
  CHECK(verdict.share == doctest::Approx(0.98));
  CHECK(speedup(verdict, "one more worker") < 1.03);
  busy.cpu_s = 1.6;
  CHECK(judge(busy).limit == Limit::sample);
  CHECK(speedup(judge(busy), "one more worker") == doctest::Approx(1.25));
}

TEST_CASE("batches that come in bursts: one more ahead helps, the less the more there are") {
  auto bursts = load(70, 0.3, 0.7, 1);
  bursts.prefetch = 2;
  const double few = speedup(judge(bursts), "one more batch ahead");
  CHECK(few > 1.02);
  bursts.prefetch = 16;
  CHECK(speedup(judge(bursts), "one more batch ahead") < few);
}

TEST_CASE("a group that waits for gradients is limited by their exchange") {
  auto exchanges = load(100, 0.02, 0.5, 1);
  exchanges.exchange_s = 0.6;
  CHECK(judge(exchanges).limit == Limit::communication);
  exchanges.exchange_s = 0.2;
  CHECK(judge(exchanges).limit == Limit::compute);
}

TEST_CASE("verdicts in words") {
  auto samples = load(100, 0.5, 1.94, 2);
  CHECK(sentence(judge(samples), samples) ==
        "`sample` limits (2 workers, busy 97 % of the time): the net waited for data 50.0 % of the time; one more "
        "worker (loader.workers = 3) would make training 1.50 times as fast, data that is always ready would make it "
        "2.00 times as fast");
  samples.stages[0].without_one = 1;
  samples.stages[0].cpu_share = 0.3;
  CHECK(sentence(judge(samples), samples).find("the workers wait for one another (a lock in the sampler?)") !=
        std::string::npos);
  const auto computes = load(100, 0.004, 1, 2);
  CHECK(sentence(judge(computes), computes) ==
        "`compute` limits: the net waited for data 0.40 % of the time, so faster data would gain nothing");
  const auto waits = load(100, 0.995, 1.94, 2);  // training that hardly computes
  CHECK(sentence(judge(waits), waits).find("the net waited for data 99.5 % of the time") != std::string::npos);
  CHECK(ordered_json(verdict_fields(judge(waits)))["headspace"].get<double>() == doctest::Approx(200));
  auto alone = load(100, 0.995, 1.94, 2);
  alone.computes = false;  // as for bench
  CHECK(sentence(judge(alone), alone) ==
        "`sample` limits (2 workers, busy 97 % of the time); one more worker (loader.workers = 3) would make the "
        "loader 1.50 times as fast");
  CHECK(!ordered_json(verdict_fields(judge(alone))).contains("headspace"));
  CHECK(sentence({}, {}).empty());

  const auto fields = ordered_json(verdict_fields(judge(samples)));
  CHECK(fields["limit"] == "sample");
  CHECK(fields["limit_share"].get<double>() == doctest::Approx(0.97));
  CHECK(fields["gain"][0]["change"] == "one more worker");
  CHECK(fields["headspace"].get<double>() == doctest::Approx(2));
}

TEST_CASE("the summary names the best values and the files that are there") {
  const TempFolder folder;
  const std::string run = folder.path().string();
  Rankings rankings;
  BestRule rule{{"accuracy", false}};
  rule.record(rankings, 20, {{"accuracy", 0.9}});
  rule.record(rankings, 40, {{"accuracy", 0.8}});
  CHECK(summary_lines(folder.path(), {rule}, {}).empty());
  CHECK(summary_lines(folder.path(), {rule}, rankings) ==
        std::vector<std::string>{"best accuracy: 0.9000 at iteration 20"});
  folder.write("snapshots/best", "");
  folder.write("metrics.jsonl", "");
  folder.write("report.html", "");
  CHECK(summary_lines(folder.path(), {rule}, rankings) ==
        std::vector<std::string>{"best accuracy: 0.9000 at iteration 20, in " + run + "/snapshots/best",
                                 "files in " + run + ": report.html, metrics.jsonl"});
}

}  // namespace flowtrain::verdict_test
