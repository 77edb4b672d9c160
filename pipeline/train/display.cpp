#include "pipeline/train/display.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <optional>
#include <set>
#include <vector>

#include "pipeline/snapshot/atomic_folder.h"
#include "pipeline/telemetry/format.h"
#include "pipeline/telemetry/log.h"
#include "sampling/core/error.h"
#include "stages/bounded_queue.h"
#include "stages/evaluation/metric_names.h"
#include "stages/system/named_thread.h"

namespace flowtrain {

namespace {

struct Epoch {
  std::uint64_t iteration, number;
  Scalars means;
};

// Metrics of single classes and groups that the line of a validation has room for.
constexpr std::size_t most_parts = 10;

// "accuracy.cat", "f1.3" and "night.f1.3": of what comes before the last of these dots there is a metric, too.
std::set<std::string> scalars_of_parts(const Scalars& scalars) {
  std::set<std::string> names, parts;
  for (auto& [name, value] : scalars) names.insert(name);
  for (auto& [name, value] : scalars) {
    bool part = name.starts_with(class_accuracy);
    for (auto dot = name.find('.'); dot != name.npos && !part; dot = name.find('.', dot + 1))
      part = names.contains(name.substr(0, dot));
    if (part) parts.insert(name);
  }
  return parts;
}

// What it cannot write it goes on without, as with lines of metrics.
void write_confusion(const std::filesystem::path& path, const ClassTable& table) {
  try {
    write_file_atomically(path, to_csv(table));
  } catch (const UserError& error) {
    log_warn(concat(error.what(), "; the run goes on"));
  }
}

std::optional<double> if_finite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

}  // namespace

struct Display::Impl {
  // Queues carry plain bytes: what is not travels by pointer, owned by whoever holds the message.
  struct Message {
    StepEvent step;
    Scalars* parts;
    ValidationEvent* validation;
    Epoch* epoch;
  };

  Impl(ProgressMode mode, std::uint64_t max_iterations, MetricsFile* metrics_file)
      : max_iter(max_iterations),
        metrics(metrics_file),
        progress(mode),
        thread(named_thread("ft-display", [this] { loop(); })) {}

  void loop() {
    Message message;
    while (queue.pop(message)) {
      const std::unique_ptr<ValidationEvent> validation(message.validation);
      const std::unique_ptr<Scalars> parts(message.parts);
      const std::unique_ptr<Epoch> epoch(message.epoch);
      guarded([&] {
        if (validation)
          show(*validation);
        else if (epoch)
          show(*epoch);
        else
          show(message.step, parts.get());
      });
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

  void show(const StepEvent& event, const Scalars* parts) {
    Progress now;
    now.iter = event.iteration;
    now.max_iter = max_iter;
    now.epoch = event.epoch + 1;
    now.loss = if_finite(event.loss_avg);
    now.lr = if_finite(event.lr);
    if (event.samples_per_s > 0)
      now.samples_per_s = event.samples_per_s;  // of several processes the first counts those of all
    now.data_wait = event.data_wait;
    now.eta_s = event.eta_s;
    progress.update(now);
    if (event.recovery && metrics)
      metrics->write("nonfinite", {{"iter", event.iteration},
                                   {"loss", event.loss},
                                   {"grad_norm", event.grad_norm},
                                   {"recovery", event.recovery}});
    if (event.left_out && metrics) metrics->write("skipped", {{"iter", event.iteration}});
    if (!event.report) return;
    now.loss = if_finite(event.loss);
    progress.report(now);
    if (!metrics) return;
    ordered_json fields{{"iter", event.iteration},
                        {"epoch", event.epoch + 1},
                        {"loss", event.loss},
                        {"lr", event.lr},
                        {"samples_per_s", event.samples_per_s},
                        {"data_wait", event.data_wait},
                        {"loss_avg", event.loss_avg},
                        {"data_time", event.data_time_s},
                        {"step_time", event.step_time_s},
                        {"grad_norm", event.grad_norm},
                        {"clipped", event.clipped}};
    if (event.slowest_rank >= 0)
      fields.update({{"slowest_rank", event.slowest_rank},
                     {"slowest_time", event.slowest_s},
                     {"slowest_link", event.slowest_link},
                     {"link_time", event.link_s}});
    if (event.exchange_s > 0)
      fields.update({{"exchange_time", event.exchange_s}, {"exchange_hidden", event.exchange_hidden}});
    if (parts) add(*parts, fields);
    metrics->write("train", fields);
  }

  // What a net, a step or a hook logs stands beside the line's own fields, and cannot take the place of one.
  void add(const Scalars& parts, ordered_json& fields) {
    const ordered_json own = fields;
    for (auto& [name, value] : parts) {
      if (name != "kind" && !own.contains(name))
        fields[name] = value;
      else if (clashes.insert(name).second)
        log_warn(concat("metrics.jsonl: a train line has a `", name,
                        "` of its own; that of a net, a step or a hook is left out"));
    }
  }

  void show(const Epoch& epoch) {
    if (!metrics) return;
    ordered_json fields{{"iter", epoch.iteration}, {"epoch", epoch.number + 1}};
    for (auto& [name, value] : epoch.means) fields[name] = value;
    metrics->write("epoch", fields);
  }

  void show(const ValidationEvent& validation) {
    std::string line = concat("validation at iteration ", validation.iteration, ": ");
    ordered_json fields{{"iter", validation.iteration}};
    const auto& scalars = validation.scalars;
    auto left_out = scalars_of_parts(scalars);
    if (left_out.size() <= most_parts) left_out.clear();
    for (auto& scalar : scalars) {
      auto& [name, value] = scalar;
      if (!left_out.contains(name)) line += (fields.size() > 1 ? "  " : "") + name + " " + format_loss(value);
      fields[name] = value;
    }
    if (validation.replaced > 0)
      line += concat("  (another picture in the place of a bad one: ", validation.replaced, ")");
    log_info(line + (validation.improved ? "  (best so far)" : ""));
    if (!metrics) return;
    metrics->write("val", fields);
    if (validation.confusion) write_confusion(metrics->path().parent_path() / "confusion.csv", *validation.confusion);
  }

  std::uint64_t max_iter;
  MetricsFile* metrics;
  ProgressDisplay progress;
  BoundedQueue<Message> queue{depth};
  std::set<std::string> clashes;  // of metrics with fields, told once each
  std::exception_ptr error;       // set once, before `failed`
  std::atomic<bool> failed{false};
  std::jthread thread;  // last: it uses all of the above
};

Display::Display(ProgressMode mode, std::uint64_t max_iterations, MetricsFile* metrics)
    : impl_(std::make_unique<Impl>(mode, max_iterations, metrics)) {}

Display::~Display() { impl_->end(); }

void Display::step(const StepEvent& event, const Scalars& parts) {
  impl_->check();
  auto owned = event.report && !parts.empty() ? std::make_unique<Scalars>(parts) : nullptr;
  if (impl_->queue.push({event, owned.get(), nullptr, nullptr})) static_cast<void>(owned.release());
}

void Display::validation(const ValidationEvent& event) {
  auto owned = std::make_unique<ValidationEvent>(event);
  if (impl_->queue.push({{}, nullptr, owned.get(), nullptr})) static_cast<void>(owned.release());
}

void Display::epoch(std::uint64_t iteration, std::uint64_t epoch, const Scalars& means) {
  auto owned = std::make_unique<Epoch>(Epoch{iteration, epoch, means});
  if (impl_->queue.push({{}, nullptr, nullptr, owned.get()})) static_cast<void>(owned.release());
}

void Display::finish() {
  impl_->end();
  impl_->check();
}

}  // namespace flowtrain
