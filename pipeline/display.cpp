#include "pipeline/display.h"

#include <atomic>
#include <cmath>
#include <exception>
#include <optional>
#include <vector>

#include "pipeline/telemetry/format.h"
#include "pipeline/telemetry/log.h"
#include "stages/bounded_queue.h"
#include "stages/named_thread.h"

namespace flowtrain {

namespace {

struct Validation {
  std::uint64_t iteration;
  Figures figures;
  bool improved;
};

std::optional<double> if_finite(double value) {
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

}  // namespace

struct Display::Impl {
  // Queues carry plain bytes: what is not travels by pointer, owned by whoever holds the message.
  struct Message {
    StepEvent step;
    Figures* parts;
    Validation* validation;
  };

  Impl(ProgressMode mode, std::uint64_t max_iterations, MetricsFile* metrics_file)
      : max_iter(max_iterations), metrics(metrics_file), progress(mode), thread(named_thread("ft-display", [this] { loop(); })) {}

  void loop() {
    Message message;
    while (queue.pop(message)) {
      const std::unique_ptr<Validation> validation(message.validation);
      const std::unique_ptr<Figures> parts(message.parts);
      guarded([&] { validation ? show(*validation) : show(message.step, parts.get()); });
    }
    guarded([&] { progress.finish(); });
  }

  // Keeps the first error for the thread that calls; what follows it is not shown.
  template <class Body>
  void guarded(Body body) {
    if (failed) return;
    try {
      body();
    } catch (...) {
      error = std::current_exception();
      failed = true;
    }
  }
  void check() const {
    if (failed) std::rethrow_exception(error);
  }
  void end() {
    queue.drain();
    if (thread.joinable()) thread.join();
  }

  void show(const StepEvent& event, const Figures* parts) {
    Progress now;
    now.iter = event.iteration;
    now.max_iter = max_iter;
    now.epoch = event.epoch + 1;
    now.loss = if_finite(event.loss_avg);
    now.lr = if_finite(event.lr);
    now.samples_per_s = event.samples_per_s;
    now.data_wait = event.data_wait;
    now.eta_s = event.eta_s;
    progress.update(now);
    if (event.recovery && metrics)
      metrics->write("nonfinite", {{"iter", event.iteration},
                                   {"loss", event.loss},
                                   {"grad_norm", event.grad_norm},
                                   {"recovery", event.recovery}});
    if (!event.report) return;
    now.loss = if_finite(event.loss);
    progress.report(now);
    if (!metrics) return;
    std::vector<MetricField> fields{{"iter", event.iteration},
                                    {"epoch", event.epoch + 1},
                                    {"loss", event.loss},
                                    {"lr", event.lr},
                                    {"samples_per_s", event.samples_per_s},
                                    {"data_wait", event.data_wait},
                                    {"loss_avg", event.loss_avg},
                                    {"data_time", event.data_time_s},
                                    {"step_time", event.step_time_s},
                                    {"grad_norm", event.grad_norm}};
    if (parts)
      for (auto& [name, value] : *parts) fields.emplace_back(name, value);
    if (event.slowest_rank >= 0)
      fields.insert(fields.end(), {{"slowest_rank", static_cast<std::uint64_t>(event.slowest_rank)},
                                   {"slowest_time", event.slowest_s},
                                   {"slowest_link", static_cast<std::uint64_t>(event.slowest_link)},
                                   {"link_time", event.link_s}});
    if (event.exchange_s > 0)
      fields.insert(fields.end(), {{"exchange_time", event.exchange_s}, {"exchange_hidden", event.exchange_hidden}});
    metrics->write("train", fields);
  }

  void show(const Validation& validation) {
    std::string line = say("validation at iteration ", validation.iteration, ": ");
    std::vector<MetricField> fields{{"iter", validation.iteration}};
    for (auto& [name, value] : validation.figures) {
      line += (fields.size() > 1 ? "  " : "") + name + " " + format_loss(value);
      fields.emplace_back(name, value);
    }
    log_info(line + (validation.improved ? "  (best so far)" : ""));
    if (metrics) metrics->write("val", fields);
  }

  std::uint64_t max_iter;
  MetricsFile* metrics;
  ProgressDisplay progress;
  BoundedQueue<Message> queue{64};
  std::exception_ptr error;  // set once, before `failed`
  std::atomic<bool> failed{false};
  std::jthread thread;  // last: it uses all of the above
};

Display::Display(ProgressMode mode, std::uint64_t max_iterations, MetricsFile* metrics)
    : impl_(std::make_unique<Impl>(mode, max_iterations, metrics)) {}

Display::~Display() { impl_->end(); }

void Display::step(const StepEvent& event, const Figures& parts) {
  impl_->check();
  auto owned = event.report && !parts.empty() ? std::make_unique<Figures>(parts) : nullptr;
  if (impl_->queue.push({event, owned.get(), nullptr})) owned.release();
}

void Display::validation(std::uint64_t iteration, Figures figures, bool improved) {
  auto owned = std::make_unique<Validation>(Validation{iteration, std::move(figures), improved});
  if (impl_->queue.push({{}, nullptr, owned.get()})) owned.release();
}

void Display::finish() {
  impl_->end();
  impl_->check();
}

}  // namespace flowtrain
