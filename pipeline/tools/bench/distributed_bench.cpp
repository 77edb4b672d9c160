#include "pipeline/tools/bench/distributed_bench.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/engine/session/session.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/trace/clock.h"

namespace flowtrain {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::size_t, 5> sizes{4u << 10, 64u << 10, 1u << 20, 16u << 20, 64u << 20};
constexpr std::size_t warm_up_rounds =
    3;  // rounds for connections, buffers, and buckets, which are laid out again after the first
constexpr double fewest_rounds = 3, most_rounds = 1000;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void wait_for_all(Group& group) {
  double nothing = 0;
  group.sum("the wait for all ranks", {&nothing, 1});
}

// Returns how many rounds fit into the time, by rank 0's clock.
std::size_t agreed_rounds(Group& group, double seconds, double round_s) {
  double rounds = group.leads() ? std::clamp(seconds / round_s, fewest_rounds, most_rounds) : 0;
  group.sum("the number of rounds", {&rounds, 1});
  return static_cast<std::size_t>(rounds);
}

// Returns the median round. A round takes as long as its slowest process, for which all wait.
double slowest_median(Group& group, const std::vector<double>& own) {
  const auto rank = static_cast<std::size_t>(group.rank()), size = static_cast<std::size_t>(group.size());
  std::vector<double> all(own.size() * size, 0);
  std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(rank * own.size()));
  group.sum("the times of all ranks", all);
  std::vector<double> slowest(own.size(), 0);
  for (std::size_t i = 0; i < all.size(); ++i) slowest[i % own.size()] = std::max(slowest[i % own.size()], all[i]);
  return median(slowest);
}

std::vector<AllReduceStats> measure_all_reduce(const DistributedBenchOptions& options, const std::string& device,
                                               const TimeAllReduce& time_all_reduce) {
  Group& group = *options.group;
  const double links = 2.0 * (group.size() - 1) / group.size();
  std::vector<AllReduceStats> scalars;
  for (const std::size_t bytes : sizes) {
    const double round_s = median(time_all_reduce(group, device, bytes, warm_up_rounds));
    const auto times = time_all_reduce(group, device, bytes, agreed_rounds(group, options.seconds, round_s));
    const double time_s = slowest_median(group, times);
    const double mb_per_s = static_cast<double>(bytes) / time_s / 1e6;
    scalars.push_back({bytes, time_s, mb_per_s, mb_per_s * links});
  }
  return scalars;
}

// A learner whose backward is one kind of step, and the times of its steps.
struct StepKind {
  std::optional<Config> config = {};
  std::unique_ptr<Learner> learner = {};
  std::vector<double> times = {};

  void run(Slab& slab) {
    const auto begin = Clock::now();
    learner->forward_backward(slab, {});
    if (!learner->stats_are_free()) {
      learner->finish_gradients();
      learner->stats();  // waits for the device
    }
    times.push_back(seconds_since(begin));
  }
};

SessionOptions without_update(SessionOptions options) {
  options.mode = TrainMode::no_step;
  return options;
}

class StepBench {
 public:
  StepBench(const Config& config, const DistributedBenchOptions& options, const MakeLearner& make_learner)
      : options_(options), group_(*options.group), session_(config, without_update(options)) {
    const DataParts& data = session_.open_training();
    session_.prepare();
    loader_ = session_.make_loader(loader_parts("train", data, config, 1, 1));
    loader_->start();
    batch_ = &first_batch(*loader_);
    const double everything_mb = 1e6;
    for (StepKind* kind : {&alone_, &overlapped_, &serial_}) {
      // The first of two micro-batches is not exchanged; a single one is.
      kind->config = config.with("train", "accum", std::int64_t{kind == &alone_ ? 2 : 1});
      if (kind == &serial_)
        for (auto key : {"bucket_mb", "first_bucket_mb"}) kind->config = kind->config->with("dist", key, everything_mb);
      kind->learner = make_learner(session_.learner_spec(loader_->layout(), *kind->config));
    }
  }
  ~StepBench() { loader_->stop(); }

  std::size_t rows() const { return batch_->rows().size(); }
  const std::string& device() const { return session_.device(); }

  // Runs the kinds in turn, so that other load on the machine affects all of them.
  StepScalars run() {
    double round_s = 0;
    for (std::size_t i = 0; i < warm_up_rounds; ++i) round_s = round();
    for (StepKind* kind : {&alone_, &overlapped_, &serial_}) kind->times.clear();
    const double kinds = 3;
    for (std::size_t left = agreed_rounds(group_, kinds * options_.seconds, round_s); left > 0; --left) round();

    StepScalars scalars{.alone_s = slowest_median(group_, alone_.times),
                        .overlapped_s = slowest_median(group_, overlapped_.times),
                        .serial_s = slowest_median(group_, serial_.times)};
    scalars.exchange_s = std::max(0.0, scalars.serial_s - scalars.alone_s);
    if (scalars.exchange_s > 0)
      scalars.hidden = std::clamp((scalars.serial_s - scalars.overlapped_s) / scalars.exchange_s, 0.0, 1.0);
    scalars.efficiency = scalars.alone_s / scalars.overlapped_s;
    return scalars;
  }

 private:
  double round() {
    const auto begin = Clock::now();
    for (StepKind* kind : {&alone_, &overlapped_, &serial_}) {
      wait_for_all(group_);
      kind->run(*batch_);
    }
    return seconds_since(begin);
  }

  DistributedBenchOptions options_;
  Group& group_;
  Session session_;
  std::unique_ptr<Loader> loader_;  // idle after its first batch, which stays in memory
  Slab* batch_ = nullptr;
  StepKind alone_, overlapped_, serial_;
};

std::string size_text(std::size_t bytes) {
  return bytes < 1u << 20 ? concat(bytes >> 10, " KiB") : concat(bytes >> 20, " MiB");
}

}  // namespace

DistributedReport run_distributed_bench(const Config& config, const DistributedBenchOptions& options,
                                        const MakeLearner& make_learner, const TimeAllReduce& time_all_reduce) {
  StepBench step(config, options, make_learner);  // made first, so that faults of the configuration show at once
  DistributedReport report{.config = config.name(), .processes = options.group->size(), .rows = step.rows()};
  report.step = step.run();
  report.all_reduce = measure_all_reduce(options, step.device(), time_all_reduce);
  return report;
}

std::string to_json(const DistributedReport& report) {
  nlohmann::ordered_json json{{"config", report.config}, {"processes", report.processes}, {"rows", report.rows}};
  json["all_reduce"] = nlohmann::ordered_json::array();
  for (auto& each : report.all_reduce)
    json["all_reduce"].push_back({{"bytes", each.bytes},
                                  {"time_s", each.time_s},
                                  {"algorithm_mb_per_s", each.algorithm_mb_per_s},
                                  {"bus_mb_per_s", each.bus_mb_per_s}});
  json["step"] = {{"alone_s", report.step.alone_s},   {"overlapped_s", report.step.overlapped_s},
                  {"serial_s", report.step.serial_s}, {"exchange_s", report.step.exchange_s},
                  {"hidden", report.step.hidden},     {"efficiency", report.step.efficiency}};
  return json_text(json, 2) + "\n";
}

std::string to_table(const DistributedReport& report) {
  std::string text;
  const auto line = [&](const char* format, auto... values) { text += printed(format, values...); };
  line("%-34s %12s %16s %12s\n", "all-reduce", "ms", "algorithm MB/s", "bus MB/s");
  for (auto& each : report.all_reduce)
    line("%-34s %12.3f %16.1f %12.1f\n", size_text(each.bytes).c_str(), 1e3 * each.time_s, each.algorithm_mb_per_s,
         each.bus_mb_per_s);
  const StepScalars& step = report.step;
  line("\n%-34s %12s\n", "forward and backward", "ms");
  line("%-34s %12.3f\n", "without exchange", 1e3 * step.alone_s);
  line("%-34s %12.3f\n", "exchange overlapped with backward", 1e3 * step.overlapped_s);
  line("%-34s %12.3f\n", "exchange after backward", 1e3 * step.serial_s);
  line("%-34s %12.3f   %.0f%% of it hidden by overlap\n", "exchange", 1e3 * step.exchange_s, 100 * step.hidden);
  line("%-34s %12.3f   %d processes, %zu rows on each\n", "weak scaling efficiency", step.efficiency, report.processes,
       report.rows);
  return text;
}

}  // namespace flowtrain
