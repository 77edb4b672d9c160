#include "pipeline/tools/bench/tune.h"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/json_text.h"
#include "pipeline/engine/session/session.h"
#include "pipeline/engine/verdict/load_meter.h"
#include "pipeline/engine/verdict/sentence.h"
#include "sampling/core/cpus.h"
#include "sampling/core/text.h"
#include "stages/trace/clock.h"

namespace flowtrain {

namespace {

constexpr int tune_turns = 3;
constexpr unsigned most_trials = 12;  // times the seconds of a trial: the search ends after that

// Samples may wait for more than cores, so more workers than cores are tried, too.
LoaderShape largest_shape(const DataParts& data) {
  constexpr unsigned most_readers = 64;
  constexpr std::size_t most_prefetch = 32, most_bytes = std::size_t{1} << 30;  // limits of prepared batches
  const std::size_t batch_bytes = slab_layout(data).bytes();
  LoaderShape most{std::max(data.workers, 4 * usable_cores()), data.readers, data.prefetch};
  if (!data.dataset->resident()) most.readers = std::max(most.readers, most_readers);
  most.prefetch =
      std::max(most.prefetch, static_cast<std::uint32_t>(std::min(most_prefetch, most_bytes / batch_bytes)));
  return most;
}

class LoaderTune {
 public:
  LoaderTune(const Config& config, double seconds)
      : seconds_(seconds), session_(config, {.dry_run = true}), data_(session_.open_training()) {
    report_.batch = data_.batch;
    report_.present = {data_.workers, data_.readers, data_.prefetch};
    most_ = largest_shape(data_);
    data_.device = make_device(session_.device(), Loader::slabs(most_.prefetch), *config.loader().pin);
    data_.workers = most_.workers;  // the session reserves so many threads
    session_.prepare();
    data_.workers = report_.present.workers;
    LoaderParts parts = loader_parts("bench", data_, config);
    parts.tries_threads = true;
    loader_ = session_.make_loader(std::move(parts));
  }

  LoaderTuneReport run() {
    loader_->start();
    search();
    compare();
    loader_->stop();
    return std::move(report_);
  }

 private:
  void search() {
    Tuner::Limits limits;
    limits.most = most_;
    limits.window_s = seconds_;
    limits.seconds = most_trials * seconds_;
    Tuner tuner({report_.present, 0}, limits);
    LoadMeter meter(*loader_, times_);
    while (!tuner.settled()) {
      const double taken_s = consume();
      const auto change = tuner.after(taken_s, taken_s, [&] { return judge(meter.load(times_)); });
      if (!change) continue;
      loader_->retune(change->loader);
      meter = LoadMeter(*loader_, times_);
    }
    report_.trials = tuner.trials();
    report_.best = tuner.best().loader;
  }

  // Measures the shapes in turn, so that changes of the machine's speed cancel out.
  void compare() {
    std::vector<double> present, best, ratios;
    for (int turn = 0; turn < tune_turns; ++turn) {
      present.push_back(rate_of(report_.present));
      if (report_.best == report_.present) continue;
      best.push_back(rate_of(report_.best));
      ratios.push_back(best.back() / present.back());
    }
    report_.present_rate = report_.best_rate = median(present);
    if (best.empty()) return;
    report_.best_rate = median(best);
    report_.speedup = median(ratios);
    if (report_.speedup >= 1) return;
    report_.best = report_.present;  // the best shape won its trial only by chance
    report_.best_rate = report_.present_rate;
    report_.speedup = 1;
  }

  double rate_of(const LoaderShape& shape) {
    loader_->retune(shape);
    for (std::uint32_t batch = 0; batch < Loader::slabs(shape.prefetch); ++batch) consume();
    const auto begin = std::chrono::steady_clock::now();
    const std::uint64_t before = times_.samples;
    while (seconds_since(begin) < seconds_) consume();
    return static_cast<double>(times_.samples - before) / seconds_since(begin);
  }

  // Takes a batch; returns the seconds that it waited for it.
  double consume() {
    const auto begin = std::chrono::steady_clock::now();
    const Slab& slab = first_batch(*loader_);
    const Ticket ticket = slab.ticket();
    times_.samples += slab.rows().size();
    data_.device->wait_copy(ticket.slot);
    data_.device->consumed(ticket.slot);
    loader_->release(ticket);
    const double taken_s = seconds_since(begin);
    times_.wait_s += taken_s;
    times_.wall_s += taken_s;
    return taken_s;
  }

  static double median(std::vector<double> values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  }

  const double seconds_;
  Session session_;
  DataParts& data_;
  LoaderShape most_;
  std::unique_ptr<Loader> loader_;
  ConsumerTimes times_{.computes = false};
  LoaderTuneReport report_;
};

std::string text_of(const LoaderShape& shape) {
  return concat("workers = ", shape.workers, ", readers = ", shape.readers, ", prefetch = ", shape.prefetch);
}

double samples_per_s(const LoaderTuneReport& report, const Tuner::Trial& trial) { return trial.rate * report.batch; }

std::string best_sentence(const LoaderTuneReport& report) {
  if (report.best == report.present)
    return concat("the config's shape is the best: ", text_of(report.best), ", ",
                  format_count(static_cast<std::uint64_t>(report.best_rate)), " samples/s");
  return printed(
      "the best shape: %s: %.2f times as fast as the config's (%.0f and %.0f samples/s, medians of %d turns)",
      text_of(report.best).c_str(), report.speedup, report.best_rate, report.present_rate, tune_turns);
}

}  // namespace

LoaderTuneReport tune_loader(const Config& config, double seconds) { return LoaderTune(config, seconds).run(); }

std::string to_table(const LoaderTuneReport& report) {
  std::string text = printed("%-8s %8s %9s %12s   %s\n", "workers", "readers", "prefetch", "samples/s", "limit");
  for (auto& trial : report.trials) {
    const LoaderShape& shape = trial.tuning.loader;
    text += printed("%-8u %8u %9u %12.0f   %s %.0f %%\n", shape.workers, shape.readers, shape.prefetch,
                    samples_per_s(report, trial), to_text(trial.verdict.limit), 100 * trial.verdict.share);
  }
  return text + best_sentence(report) + "\n";
}

std::string to_json(const LoaderTuneReport& report) {
  using nlohmann::ordered_json;
  const auto json_of = [](const LoaderShape& shape) {
    return ordered_json{{"workers", shape.workers}, {"readers", shape.readers}, {"prefetch", shape.prefetch}};
  };
  ordered_json trials = ordered_json::array();
  for (auto& trial : report.trials) {
    auto each = json_of(trial.tuning.loader);
    each["samples_per_s"] = samples_per_s(report, trial);
    each["verdict"] = verdict_fields(trial.verdict);
    trials.push_back(std::move(each));
  }
  const ordered_json json{{"trials", std::move(trials)},
                          {"present", json_of(report.present)},
                          {"best", json_of(report.best)},
                          {"present_samples_per_s", report.present_rate},
                          {"best_samples_per_s", report.best_rate},
                          {"speedup", report.speedup}};
  return json_text(json, 2) + "\n";
}

std::string to_toml(const LoaderTuneReport& report) {
  return concat("# Found by `flowtrain bench --tune` on ", usable_cores(), " cores.\n# ", best_sentence(report),
                "\n[loader]\n", "workers = ", report.best.workers, "\nreaders = ", report.best.readers,
                "\nprefetch = ", report.best.prefetch, "\n");
}

}  // namespace flowtrain
