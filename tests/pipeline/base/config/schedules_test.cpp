#include "pipeline/base/schedules/timed_schedule.h"

#include <doctest/doctest.h>

#include <cmath>

#include "pipeline/base/config/part_kinds.h"
#include "tests/pipeline/base/config/support.h"

namespace flowtrain::schedules_test {

using namespace flowtrain::testing;
using doctest::Approx;

namespace {

using Changes = std::vector<std::pair<std::string, Value>>;

constexpr std::uint64_t per_epoch = 5;

TimedSchedule schedule(const std::string& kind, const Changes& changes, std::uint64_t last) {
  Settings settings("schedule.0", keys_with("schedule", kind));
  settings.set("name", kind, {});
  for (auto& [key, value] : changes) settings.set(key, value, {});
  return TimedSchedule(settings, per_epoch, last);
}

/// Of 0.8, at iterations 1, 2, 3 …
void expect(const TimedSchedule& schedule, const std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(schedule.apply(0.8, i + 1) - values[i]) < 1e-9);
  }
}

Value number(std::int64_t value) { return value; }
Value word(const char* value) { return std::string(value); }

}  // namespace

// Expected values: torch.optim.lr_scheduler's classes of torch 2.11, and transformers' functions, run from Python.
TEST_CASE("schedules are those of torch.optim.lr_scheduler") {
  expect(schedule("step", {{"stepsize", number(3)}}, 8), {0.8, 0.8, 0.8, 0.08, 0.08, 0.08, 0.008, 0.008});
  expect(schedule("multi_step", {{"milestones", std::vector<std::int64_t>{2, 5}}, {"decay_rate", 2.0}}, 8),
         {0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2});
  expect(schedule("exponential", {{"decay_rate", 1.25}}, 6), {0.8, 0.64, 0.512, 0.4096, 0.32768, 0.262144});
  expect(schedule("cosine", {{"min_factor", 0.1}}, 10), {0.8, 0.7823803459, 0.731246118, 0.6516026908, 0.551246118,
                                                         0.44, 0.328753882, 0.2283973092, 0.148753882, 0.09761965413});
  expect(schedule("poly", {{"power", 2.0}, {"end", number(10)}}, 12),
         {0.8, 0.648, 0.512, 0.392, 0.288, 0.2, 0.128, 0.072, 0.032, 0.008, 0.0, 0.0});
  expect(schedule("one_cycle", {}, 20),
         {0.032,        0.1053374742, 0.2973374742,  0.5346625258,  0.7266625258,  0.8,       0.789971205,
          0.7603877056, 0.7127329421, 0.6493965232,  0.5735544014,  0.4890096175,  0.4000016, 0.3109935825,
          0.2264487986, 0.1506066768, 0.08727025794, 0.03961549439, 0.01003199501, 3.2e-06});
  expect(schedule("one_cycle", {{"anneal", word("linear")}}, 20),
         {0.032,        0.1856,       0.3392,       0.4928,       0.6464,        0.8,       0.7428573714,
          0.6857147429, 0.6285721143, 0.5714294857, 0.5142868571, 0.4571442286,  0.4000016, 0.3428589714,
          0.2857163429, 0.2285737143, 0.1714310857, 0.1142884571, 0.05714582857, 3.2e-06});
}

TEST_CASE("waves of a cosine are torch.optim.lr_scheduler's, also where they grow") {
  expect(schedule("cosine_restarts", {{"period", number(3)}, {"min_factor", 0.1}}, 8),
         {0.8, 0.62, 0.26, 0.8, 0.62, 0.26, 0.8, 0.62});
  expect(schedule("cosine_restarts", {{"period", number(2)}, {"growth", number(2)}}, 16),
         {0.8, 0.4, 0.8, 0.6828427125, 0.4, 0.1171572875, 0.8, 0.769551813, 0.6828427125, 0.5530733729, 0.4,
          0.2469266271, 0.1171572875, 0.030448187, 0.8, 0.7923141122});
  CHECK_FALSE(schedule("cosine_restarts", {{"period", number(8)}}, 8).is_cut_short());
  CHECK(schedule("cosine_restarts", {{"period", number(9)}}, 8).is_cut_short());
}

TEST_CASE("warm-up, stable, decay and the inverse square root are those of transformers") {
  const Changes wsd{{"rise", number(3)}, {"fall", number(4)}, {"min_factor", 0.1}};
  const auto with_shape = [&](const char* shape) {
    Changes all = wsd;
    all.emplace_back("shape", word(shape));
    return schedule("wsd", all, 10);
  };
  expect(schedule("wsd", wsd, 10),
         {0.08, 0.32, 0.56, 0.8, 0.8, 0.8, 0.8, 0.44, 0.2908831175, 0.1764617093, 0.08, 0.08});
  expect(with_shape("linear"), {0.08, 0.32, 0.56, 0.8, 0.8, 0.8, 0.8, 0.62, 0.44, 0.26, 0.08, 0.08});
  expect(with_shape("cosine"), {0.08, 0.32, 0.56, 0.8, 0.8, 0.8, 0.8, 0.6945584412, 0.44, 0.1854415588, 0.08, 0.08});
  expect(schedule("wsd", {{"fall_share", 0.5}, {"shape", word("linear")}}, 9),
         {0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.6, 0.4, 0.2, 0});
  expect(schedule("wsd", {{"fall_share", 0.0}}, 3), {0.8, 0.8, 0.8, 0.8});
  expect(schedule("inverse_sqrt", {{"rise", number(4)}}, 12),
         {0, 0.2, 0.4, 0.6, 0.8, 0.7155417528, 0.6531972647, 0.6047431568, 0.5656854249, 0.5333333333, 0.5059644256,
          0.4824181513});
  expect(schedule("inverse_sqrt", {{"rise", number(2)}, {"timescale", number(5)}}, 9),
         {0, 0.4, 0.8, 0.7302967433, 0.6761234038, 0.632455532, 0.596284794, 0.5656854249, 0.53935989});
  expect(schedule("inverse_sqrt", {}, 4), {0.8, 0.799960003, 0.799920012, 0.799880027});
}

TEST_CASE("schedules by epoch move where epochs end, however many batches an iteration has") {
  Settings settings("schedule.0", keys_with("schedule", "step"));
  for (auto& [key, value] : Changes{{"name", word("step")}, {"by", word("epoch")}, {"stepsize", number(1)}})
    settings.set(key, value, {});
  const Every epoch(5, 3);
  const TimedSchedule by_epoch(settings, epoch, 50);
  settings.set("by", word("iter"), {});
  settings.set("stepsize", word("1 epoch"), {});
  const TimedSchedule by_iteration(settings, epoch, 50);
  for (std::uint64_t iteration = 1; iteration <= 50; ++iteration) {
    CAPTURE(iteration);
    const double value = std::pow(10, -static_cast<double>((iteration - 1) * 3 / 5));
    CHECK(by_epoch.apply(1, iteration) == Approx(value));
    CHECK(by_iteration.apply(1, iteration) == Approx(value));
  }
}

TEST_CASE("warm-up goes on top of what else moves the metric") {
  const auto cosine = schedule("cosine", {}, 12);
  const auto warmup = schedule("warmup", {{"length", number(4)}, {"mode", word("factor")}, {"factor", 0.25}}, 12);
  const double chained[] = {0.2, 0.3440370196, 0.4665063509, 0.5548097039,
                            0.6, 0.503527618,  0.4,          0.296472382};  // ChainedScheduler
  for (std::uint64_t i = 1; i <= std::size(chained); ++i)
    CHECK(warmup.apply(cosine.apply(0.8, i), i) == Approx(chained[i - 1]));

  expect(schedule("warmup", {{"length", number(4)}, {"mode", word("fix")}, {"init_lr", 0.2}}, 9),
         {0.2, 0.35, 0.5, 0.65, 0.8, 0.8});
  expect(schedule("warmup", {{"length", number(4)}}, 9), {0.2, 0.35, 0.5, 0.65, 0.8});  // auto: from 1 / iterations
  expect(
      schedule("warmup", {{"length", number(2)}, {"by", word("epoch")}, {"mode", word("factor")}, {"factor", 0.0}}, 20),
      {0, 0.08, 0.16, 0.24, 0.32, 0.4, 0.48, 0.56, 0.64, 0.72, 0.8});
}

TEST_CASE("a schedule is at work from its beginning to its end, and what it came to stays") {
  const auto late = schedule("cosine", {{"begin", number(2)}, {"end", number(4)}, {"min_factor", 0.5}}, 10);
  expect(late, {0.8, 0.8, 0.8, 0.6, 0.4, 0.4, 0.4});
  CHECK_FALSE(late.is_cut_short());
  CHECK(schedule("cosine", {{"begin", number(10)}}, 10).is_cut_short());
  CHECK(schedule("step", {{"stepsize", number(11)}}, 10).is_cut_short());
  CHECK_FALSE(schedule("step", {{"stepsize", number(9)}}, 10).is_cut_short());
  CHECK(schedule("multi_step", {{"milestones", std::vector<std::int64_t>{3, 20}}}, 10).is_cut_short());
}

TEST_CASE("epochs are counted whole, unless a schedule is smooth") {
  expect(schedule("exponential", {{"by", word("epoch")}, {"decay_rate", 2.0}}, 15),
         {0.8, 0.8, 0.8, 0.8, 0.8, 0.4, 0.4});
  const auto smooth = schedule("exponential", {{"by", word("epoch")}, {"decay_rate", 2.0}, {"smooth", true}}, 15);
  CHECK(smooth.apply(0.8, 1) == 0.8);
  CHECK(smooth.apply(0.8, 3) == Approx(0.8 / std::pow(2, 0.4)));
  CHECK(smooth.apply(0.8, 6) == Approx(0.4));
  expect(schedule("step", {{"stepsize", word("2 epochs")}}, 30),
         {0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.08});
  expect(schedule("step", {{"stepsize", number(2)}, {"by", word("epoch")}}, 30),
         {0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.8, 0.08});
}

TEST_CASE("schedules that cannot be are refused") {
  const auto message = [](const std::string& kind, const Changes& changes) {
    const auto failure = failure_of([&] { schedule(kind, changes, 10); });
    return failure ? failure->message : "";
  };
  CHECK(message("cosine", {{"begin", number(5)}, {"end", number(5)}})
            .ends_with("schedule.0.end: 5 is not after begin = 5"));
  CHECK(message("multi_step", {{"milestones", std::vector<std::int64_t>{5, 3}}})
            .ends_with("expected growing numbers, got [5, 3]"));
  CHECK(message("multi_step", {{"milestones", std::vector<std::int64_t>{3, 3}}})
            .ends_with("expected growing numbers, got [3, 3]"));
  CHECK(
      message("one_cycle", {{"rise", 0.05}}).ends_with("schedule.0.rise: 0.05 of 10 leaves no time to rise and fall"));
  CHECK(message("wsd", {{"rise", number(4)}, {"fall", number(7)}})
            .ends_with("schedule.0.fall: rise = 4 and a fall of 7 are longer than the schedule (10)"));
  CHECK(message("wsd", {{"rise", number(9)}})
            .ends_with("schedule.0.rise: rise = 9 and a fall of 2 are longer than the schedule (10)"));
  CHECK(message("step", {{"stepsize", word("3 per epoch")}, {"by", word("epoch")}})
            .find("\"N per epoch\" does not go with by") != std::string::npos);
}

}  // namespace flowtrain::schedules_test
