#include "pipeline/tools/distributed_bench.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "pipeline/session/assembly.h"
#include "pipeline/telemetry/table_line.h"
#include "sampling/core/settings.h"
#include "stages/clock.h"

namespace flowtrain {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::size_t, 5> sizes{4u << 10, 64u << 10, 1u << 20, 16u << 20, 64u << 20};
constexpr std::size_t warm_up_rounds = 3;  // connections, buffers, and buckets that are laid out anew after the first
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

// How often something fits into the time, by rank 0's clock.
std::size_t agreed_rounds(Group& group, double seconds, double round_s) {
  double rounds = group.leads() ? std::clamp(seconds / round_s, fewest_rounds, most_rounds) : 0;
  group.sum("the number of rounds", {&rounds, 1});
  return static_cast<std::size_t>(rounds);
}

// The median round, each as long as it was for the slowest process: all wait for it.
double slowest_median(Group& group, const std::vector<double>& own) {
  const auto rank = static_cast<std::size_t>(group.rank()), size = static_cast<std::size_t>(group.size());
  std::vector<double> all(own.size() * size, 0);
  std::copy(own.begin(), own.end(), all.begin() + static_cast<std::ptrdiff_t>(rank * own.size()));
  group.sum("the times of all ranks", all);
  std::vector<double> slowest(own.size(), 0);
  for (std::size_t i = 0; i < all.size(); ++i) slowest[i % own.size()] = std::max(slowest[i % own.size()], all[i]);
  return median(slowest);
}

std::vector<AllReduceFigures> measure_all_reduce(const DistributedBenchOptions& options, const std::string& device,
                                                 const TimeAllReduce& time_all_reduce) {
  Group& group = *options.group;
  const double links = 2.0 * (group.size() - 1) / group.size();
  std::vector<AllReduceFigures> figures;
  for (const std::size_t bytes : sizes) {
    const double round_s = median(time_all_reduce(group, device, bytes, warm_up_rounds));
    const auto times = time_all_reduce(group, device, bytes, agreed_rounds(group, options.seconds, round_s));
    const double time_s = slowest_median(group, times);
    const double mb_per_s = static_cast<double>(bytes) / time_s / 1e6;
    figures.push_back({bytes, time_s, mb_per_s, mb_per_s * links});
  }
  return figures;
}

// A learner whose backward is one kind of step, and how long each of those took.
struct StepKind {
  Settings train, dist;
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

// The first batch of the training data, which stays; the line behind it is idle.
class FirstBatch {
 public:
  FirstBatch(const Config& config, const std::string& device, const Portion& portion)
      : data_(open_training_data(config, device, portion)),
        scheduler_(data_.workers),
        line_(line_parts("train", data_, config, 1, 1)) {
    line_.start();
    if (!line_.next(ticket_)) throw InternalError("the line ended");
    if (ticket_.kind == TicketKind::bad) std::rethrow_exception(slab().error());
  }
  ~FirstBatch() { line_.stop(); }

  Slab& slab() { return line_.slab(ticket_); }
  const SlabLayout& layout() const { return line_.layout(); }
  std::int64_t classes() const { return static_cast<std::int64_t>(data_.dataset->classes().size()); }

 private:
  DataParts data_;
  Scheduler scheduler_;
  Line line_;
  Ticket ticket_;
};

class StepBench {
 public:
  StepBench(const Config& config, const DistributedBenchOptions& options, const std::string& device,
            const MakeLearner& make_learner)
      : options_(options),
        group_(*options.group),
        batch_(config, device,
               {{static_cast<std::uint64_t>(group_.rank()), static_cast<std::uint64_t>(group_.size())},
                options.processes_here}) {
    // The first of two micro-batches is not exchanged; the only one of an iteration is.
    const double everything_mb = 1e6;
    for (StepKind* kind : {&alone_, &overlapped_, &serial_}) {
      kind->train = config.table("train");
      kind->dist = config.table("dist");
      kind->train.set("accum", std::int64_t{kind == &alone_ ? 2 : 1}, {});
      if (kind == &serial_)
        for (auto key : {"bucket_mb", "first_bucket_mb"}) kind->dist.set(key, everything_mb, {});
      LearnerSpec spec{config.table("net"), config.table("loss"), config.list("optim"), config.list("group"),
                       kind->train,         config.table("run"),  config.table("val"),  batch_.layout()};
      spec.classes = batch_.classes();
      spec.device = device;
      spec.seed = seed_of(config);
      spec.mode = TrainMode::no_step;
      spec.processes_here = options.processes_here;
      spec.dist = &kind->dist;
      spec.group = &group_;
      kind->learner = make_learner(spec);
    }
  }

  std::size_t rows() { return batch_.slab().rows().size(); }

  // The kinds take turns, so that whatever else the machine does meets all of them.
  StepFigures run() {
    double round_s = 0;
    for (std::size_t i = 0; i < warm_up_rounds; ++i) round_s = round();
    for (StepKind* kind : {&alone_, &overlapped_, &serial_}) kind->times.clear();
    const double kinds = 3;
    for (std::size_t left = agreed_rounds(group_, kinds * options_.seconds, round_s); left > 0; --left) round();

    StepFigures figures;
    figures.alone_s = slowest_median(group_, alone_.times);
    figures.overlapped_s = slowest_median(group_, overlapped_.times);
    figures.serial_s = slowest_median(group_, serial_.times);
    figures.exchange_s = std::max(0.0, figures.serial_s - figures.alone_s);
    if (figures.exchange_s > 0)
      figures.hidden = std::clamp((figures.serial_s - figures.overlapped_s) / figures.exchange_s, 0.0, 1.0);
    figures.efficiency = figures.alone_s / figures.overlapped_s;
    return figures;
  }

 private:
  double round() {
    const auto begin = Clock::now();
    for (StepKind* kind : {&alone_, &overlapped_, &serial_}) {
      wait_for_all(group_);
      kind->run(batch_.slab());
    }
    return seconds_since(begin);
  }

  DistributedBenchOptions options_;
  Group& group_;
  FirstBatch batch_;
  StepKind alone_, overlapped_, serial_;
};

std::string size_text(std::size_t bytes) {
  return bytes < 1u << 20 ? std::to_string(bytes >> 10) + " KiB" : std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

DistributedReport run_distributed_bench(const Config& config, const DistributedBenchOptions& options,
                                        const MakeLearner& make_learner, const TimeAllReduce& time_all_reduce) {
  DistributedReport report;
  report.config = config.name();
  report.processes = options.group->size();
  const std::string device = choose_device(config, options.local_rank, options.processes_here);
  StepBench step(config, options, device, make_learner);  // first: what is wrong in the configuration shows at once
  report.rows = step.rows();
  report.step = step.run();
  report.all_reduce = measure_all_reduce(options, device, time_all_reduce);
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
  return json.dump(2) + "\n";
}

std::string to_table(const DistributedReport& report) {
  std::string text;
  const auto line = [&](const char* format, auto... values) { append_line(text, format, values...); };
  line("%-34s %12s %16s %12s\n", "all-reduce", "ms", "algorithm MB/s", "bus MB/s");
  for (auto& each : report.all_reduce)
    line("%-34s %12.3f %16.1f %12.1f\n", size_text(each.bytes).c_str(), 1e3 * each.time_s, each.algorithm_mb_per_s,
         each.bus_mb_per_s);
  const StepFigures& step = report.step;
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
