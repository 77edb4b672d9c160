#include "pipeline/tools/bench/bench.h"

#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/engine/session/session.h"
#include "pipeline/engine/verdict/load_meter.h"
#include "pipeline/engine/verdict/sentence.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "stages/loader/batch_planner.h"
#include "stages/loader/sample.h"
#include "stages/trace/clock.h"

namespace flowtrain {

namespace {

using Clock = std::chrono::steady_clock;

const std::array<std::string, 5> known_stages{"plan", "read", "sample", "transfer", "pipeline"};

double peak_rss_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024 / 1e6;
}

// Returns the seconds of sound that a record of a batch fills, by the first field of its group that is made of sound.
double sound_of(const ShapePlan& plan, const Slab& slab, const RowWork& record) {
  std::size_t axis = 0;
  for (auto& field : slab.layout().fields()) {
    if (field.per_second > 0 && field.group == record.place.group)
      return static_cast<double>(plan.filled(slab, record, axis)) / field.per_second;
    axis += field.free_axes;
  }
  return 0;
}

// Returns the name of the field that has a free axis; packed rows have none, and their first field is a packed one.
std::string field_of_axis(const std::vector<Field>& fields, std::size_t axis) {
  for (auto& field : fields)
    if (axis < field.free_axes)
      return field.name;
    else
      axis -= field.free_axes;
  return fields.front().name;
}

struct Work {
  std::uint64_t items = 0, bytes = 0;
};

// Returns the bytes of a record and of its parts. Parts that share their bytes count once.
std::uint64_t bytes_of(const Record& record) {
  std::uint64_t sum = record.bytes.size();
  for (std::size_t i = 0; i < record.parts.size(); ++i) {
    const auto own = record.parts[i].bytes;
    const auto is_own = [own](std::span<const std::byte> other) {
      return other.data() == own.data() && other.size() == own.size();
    };
    if (!is_own(record.bytes) && std::ranges::none_of(record.parts.first(i), is_own, &Part::bytes)) sum += own.size();
  }
  return sum;
}

// Runs `body(thread)`, which returns its amount of work, repeatedly on each of `threads` threads until the time is
// over. The first round of each thread does not count, as buffers grow there. Rethrows an error of a thread.
StageStats measure(const std::string& name, unsigned threads, double seconds,
                   const std::function<Work(unsigned)>& body) {
  std::atomic<std::uint64_t> items{0}, bytes{0};
  const auto run = [&](unsigned thread) {
    body(thread);
    for (const auto begin = Clock::now(); seconds_since(begin) < seconds;) {
      const Work work = body(thread);
      items += work.items;
      bytes += work.bytes;
    }
  };
  std::vector<std::future<void>> pool;
  for (unsigned thread = 0; thread < threads; ++thread) pool.push_back(std::async(std::launch::async, run, thread));
  for (auto& each : pool) each.get();
  return {name, threads, static_cast<double>(items) / seconds, static_cast<double>(bytes) / seconds / 1e6, 0};
}

// Measures the stages without the graph: each thread has a slab of its own, which the bench fills itself.
class Bench {
 public:
  Bench(const Config& config, const BenchOptions& options)
      : config_(config),
        options_(options),
        session_(config, {.dry_run = true, .device = options.device ? "cpu" : ""}),
        data_(session_.open_training()),
        layout_(slab_layout(data_)),
        planner_(*data_.order, data_.batches, {}, 1, 1, data_.plan.get()),
        sample_(*data_.dataset, *data_.sampler, seed_of(config), data_.plan.get()) {
    if (options.device) data_.device = options.device();
    session_.prepare();
  }

  BenchReport run() {
    report_.config = config_.name();
    report_.workers = data_.workers;
    if (wanted("plan")) report_.stages.push_back(plan());
    // A data set in memory is not read: the sample stage finds its bytes.
    if (wanted("read") && !data_.dataset->resident()) report_.stages.push_back(read());
    if (wanted("sample")) report_.stages.push_back(sample());
    if (wanted("transfer") && data_.device->copies()) report_.stages.push_back(transfer());
    if (wanted("pipeline")) pipeline();
    judge();
    return std::move(report_);
  }

 private:
  bool wanted(const std::string& stage) const {
    return options_.stages.empty() || std::ranges::count(options_.stages, stage) > 0;
  }

  void fill(Slab& slab, std::uint64_t iteration) { planner_({.iteration = iteration}, slab); }
  std::vector<std::unique_ptr<Slab>> slabs(unsigned count, Device& device) const {
    std::vector<std::unique_ptr<Slab>> made;
    for (unsigned i = 0; i < count; ++i) made.push_back(std::make_unique<Slab>(layout_, device));
    return made;
  }

  StageStats plan() {
    auto slab = slabs(1, *host_);
    return measure("plan", 1, options_.seconds, [&, iteration = std::uint64_t{0}](unsigned) mutable {
      fill(*slab[0], ++iteration);
      return Work{slab[0]->rows().size(), 0};
    });
  }

  StageStats read() {
    const unsigned threads = data_.readers;
    auto own = slabs(threads, *host_);
    std::atomic<std::uint64_t> iteration{0};
    return measure("read", threads, options_.seconds, [&](unsigned thread) {
      Slab& slab = *own[thread];
      fill(slab, ++iteration);
      read_rows(*data_.dataset, slab.rows());
      Work work{slab.rows().size(), 0};
      for (auto& row : slab.rows())
        if (row.state == RowWork::State::read) work.bytes += bytes_of(row.record);
      return work;
    });
  }

  StageStats sample() {
    auto own = slabs(data_.workers, *host_);
    for (unsigned thread = 0; thread < own.size(); ++thread) {
      fill(*own[thread], thread + 1);
      read_rows(*data_.dataset, own[thread]->rows());
    }
    return measure("sample", data_.workers, options_.seconds, [&](unsigned thread) {
      Slab& slab = *own[thread];
      std::uint64_t done = 0, bytes = 0;
      sample_(slab, 0);
      for (auto& row : slab.rows()) {
        if (row.state != RowWork::State::done) continue;  // a damaged record is left out
        row.state = RowWork::State::read;
        ++done;
        for (std::size_t field = 0; field < layout_.fields().size(); ++field)
          bytes += data_.plan ? data_.plan->filled_bytes(slab, row, field) : slab.bytes_of(row, field).size();
      }
      if (done == 0) {
        const BadSample& bad = slab.bad().front();
        throw UserError(ExitCode::data, concat("no sample of a batch could be used: ", bad.stage, ": ", bad.reason));
      }
      return Work{done, bytes};
    });
  }

  // Measures copies with two slabs: one is copied while the copy of the other is awaited.
  StageStats transfer() {
    Device& device = *data_.device;
    auto own = slabs(2, device);
    auto scalars = measure("transfer", 1, options_.seconds, [&, slot = std::uint32_t{0}](unsigned) mutable {
      device.wait_host_free(slot);
      device.start_copy(slot, own[slot]->device(), own[slot]->host(), layout_.bytes());
      slot = 1 - slot;
      return Work{data_.batch, layout_.bytes()};
    });
    for (const std::uint32_t slot : {0, 1}) device.wait_host_free(slot);
    return scalars;
  }

  void pipeline() {
    const auto begin = Clock::now();
    LoaderParts parts = loader_parts("bench", data_, config_);
    parts.tries_threads = true;
    const auto loader = session_.make_loader(std::move(parts));
    loader->start();
    ConsumerTimes times{.computes = false};
    consume(*loader, times);
    report_.first_batch_s = seconds_since(begin);
    times = {.computes = false};
    filling_ = {};
    sound_s_ = 0;
    const LoadMeter meter(*loader, times);
    const double cpu_before = process_cpu_s();
    const auto start = Clock::now();
    while (seconds_since(start) < options_.seconds) consume(*loader, times);
    times.wall_s = seconds_since(start);
    report_.load = meter.load(times);
    const auto samples = static_cast<double>(times.samples);
    if (data_.plan && data_.plan->has_lengths()) {
      report_.counted = field_of_axis(layout_.fields(), data_.plan->axis);
      report_.positions_per_s = static_cast<double>(filling_.filled) / times.wall_s;
      report_.padding = filling_.padding();
      report_.sound_s_per_s = sound_s_ / times.wall_s;
    }
    report_.has_pipeline = true;
    report_.samples_per_s = samples / times.wall_s;
    report_.cpu_s_per_1000 = (process_cpu_s() - cpu_before) / samples * 1000;
    report_.peak_rss_mb = peak_rss_mb();
    loader->stop();
    for (auto& stage : report_.stages)
      for (auto& load : report_.load.stages)
        if (stage.name == to_text(load.stage)) stage.busy = load.busy_s / (load.threads * times.wall_s);
  }

  void consume(Loader& loader, ConsumerTimes& times) {
    const auto begin = Clock::now();
    const Slab& slab = first_batch(loader);
    times.wait_s += seconds_since(begin);
    times.samples += slab.rows().size();
    if (data_.plan) data_.plan->add_to(filling_, slab);
    if (data_.plan && data_.plan->has_lengths())
      for (auto& row : slab.rows()) sound_s_ += sound_of(*data_.plan, slab, row);
    const Ticket ticket = slab.ticket();
    data_.device->wait_copy(ticket.slot);
    data_.device->consumed(ticket.slot);
    loader.release(ticket);
  }

  // Judges the whole loader; stages that were measured alone are only compared.
  void judge() {
    if (report_.has_pipeline) {
      const Verdict verdict = flowtrain::judge(report_.load);
      report_.limit = to_text(verdict.limit);
      report_.advice.push_back(sentence(verdict, report_.load));
      report_.verdict = verdict;
      return;
    }
    const auto slowest = std::ranges::min_element(report_.stages, {}, &StageStats::items_per_s);
    if (slowest != report_.stages.end()) report_.limit = slowest->name;
  }

  const Config& config_;
  BenchOptions options_;
  const std::unique_ptr<Device> host_ = make_cpu_device();
  Session session_;
  DataParts& data_;
  Filling filling_;
  double sound_s_ = 0;
  SlabLayout layout_;
  BatchPlanner planner_;
  SampleStage sample_;
  BenchReport report_;
};

}  // namespace

BenchReport run_bench(const Config& config, const BenchOptions& options) {
  for (auto& stage : options.stages)
    if (std::ranges::count(known_stages, stage) == 0)
      throw UserError(ExitCode::usage, "there is no stage '" + stage + "'", "the stages are: " + join(known_stages));
  return Bench(config, options).run();
}

std::string to_json(const BenchReport& report) {
  nlohmann::ordered_json json{{"config", report.config}, {"workers", report.workers}};
  json["stages"] = nlohmann::ordered_json::array();
  for (auto& stage : report.stages)
    json["stages"].push_back({{"name", stage.name},
                              {"items_per_s", stage.items_per_s},
                              {"mb_per_s", stage.mb_per_s},
                              {"busy", stage.busy},
                              {"threads", stage.threads}});
  if (report.has_pipeline)
    json["pipeline"] = {{"samples_per_s", report.samples_per_s},
                        {"first_batch_s", report.first_batch_s},
                        {"cpu_s_per_1000", report.cpu_s_per_1000},
                        {"peak_rss_mb", report.peak_rss_mb}};
  if (!report.counted.empty())
    json["pipeline"].update(
        {{"counted", report.counted}, {"positions_per_s", report.positions_per_s}, {"padding", report.padding}});
  if (report.sound_s_per_s > 0) json["pipeline"]["sound_s_per_s"] = report.sound_s_per_s;
  json["limit"] = report.limit;
  json["advice"] = report.advice;
  if (report.has_pipeline) json["verdict"] = verdict_fields(report.verdict);
  return json_text(json, 2) + "\n";
}

std::string to_table(const BenchReport& report) {
  std::string text;
  const auto line = [&](const char* format, auto... values) { text += printed(format, values...); };
  line("%-10s %8s %14s %12s %8s\n", "stage", "threads", "samples/s", "MB/s", "busy");
  for (auto& stage : report.stages)
    line("%-10s %8u %14.0f %12.1f %7.0f%%\n", stage.name.c_str(), stage.threads, stage.items_per_s, stage.mb_per_s,
         100 * stage.busy);
  if (report.has_pipeline)
    line("%-10s %8u %14.0f   first batch after %.3f s, %.5f CPU s per 1000 samples, peak memory %.0f MB\n",
         "whole loader", report.workers, report.samples_per_s, report.first_batch_s, report.cpu_s_per_1000,
         report.peak_rss_mb);
  if (!report.counted.empty())
    line("%-10s %8s %14.0f   positions of `%s` per second; %.1f %% of the batches is padding\n", "", "",
         report.positions_per_s, report.counted.c_str(), 100 * report.padding);
  if (report.sound_s_per_s > 0)
    line("%-10s %8s %14.0f   seconds of sound per second, without padding\n", "", "", report.sound_s_per_s);
  if (report.limit.empty()) return text;
  if (!report.has_pipeline) return concat(text, "the slowest: ", report.limit, "\n");
  return concat(text, "verdict: ", join(report.advice, "; "), "\n");
}

}  // namespace flowtrain
