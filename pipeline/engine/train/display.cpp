#include "pipeline/engine/train/display.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "pipeline/base/snapshot/atomic_folder.h"
#include "pipeline/base/telemetry/format.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/train/logger_entry.h"
#include "pipeline/engine/train/train_line.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/io/held_folder.h"
#include "stages/evaluation/metric_names.h"

namespace flowtrain {

namespace {

// Returns the name of a recovery from values that are not finite; null for other decisions.
const char* recovery_by(Decision decision) {
  switch (decision) {
    case Decision::scale_down: return "scaled down";
    case Decision::skip: return "skipped";
    case Decision::roll_back: return "rolled back";
    default: return nullptr;
  }
}

// The line of a validation has room for so many metrics of classes and groups.
constexpr std::size_t most_groups = 10;

bool is_of_class(const std::string& name) {
  return name.starts_with(class_accuracy) || name.find(concat(".", class_accuracy)) != name.npos;
}

// Returns the metrics of classes and groups, such as "f1.3" and "night.f1.3": a part of such a name is a metric, too.
std::set<std::string> metrics_of_groups(const Scalars& scalars) {
  std::set<std::string> names, parts;
  for (auto& [name, value] : scalars) names.insert(name);
  for (auto& [name, value] : scalars) {
    bool part = false;
    for (auto dot = name.find('.'); dot != name.npos && !part; dot = name.find('.', dot + 1))
      part = names.contains(name.substr(0, dot));
    if (part) parts.insert(name);
  }
  return parts;
}

// A failed write is a warning, and the run goes on, as it does without lines of metrics.
void write_confusion(const std::filesystem::path& path, const ClassTable& table) {
  try {
    write_file_atomically(path, to_csv(table));
  } catch (const FolderLost&) {  // The trainer ends the run.
  } catch (const UserError& error) {
    log_warn(concat(error.what(), "; the run goes on"));
  }
}

// Lines of the split "val" are cut off with those of validations.
JsonObject samples_line(const ValidationEvent& validation) {
  ordered_json samples = ordered_json::array();
  for (auto& [prompt, text] : validation.texts) samples.push_back(JsonObject{{"prompt", prompt}, {"text", text}});
  return {{"iter", validation.iteration}, {"split", "val"}, {"samples", std::move(samples)}};
}

std::optional<double> if_finite(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }

}  // namespace

Display::Display(ProgressMode mode, std::uint64_t max_iterations, MetricsFile* metrics, bool groups)
    : max_iter_(max_iterations), metrics_(metrics), groups_(groups), progress_(mode) {}

Display::~Display() { end(); }

void Display::show_later(TaskThread::Task task) {
  tasks_.add([this, show = std::move(task)] {
    waiting_.set(tasks_.waiting());
    const FlightSpan flight({.name = "display"});
    show();
  });
}

void Display::end() {
  tasks_.add([this] { progress_.finish(); });
  tasks_.finish();
}

void Display::show(const StepEvent& event, const Scalars& parts) {
  Progress now;
  now.iter = event.iteration;
  now.max_iter = max_iter_;
  now.epoch = event.epoch + 1;
  now.loss = if_finite(event.loss_avg);
  now.lr = if_finite(event.lr);
  if (event.times.samples_per_s > 0)
    now.samples_per_s = event.times.samples_per_s;  // Rank 0 counts those of all ranks.
  now.data_wait = event.times.data_wait;
  if (event.limit.stage != Limit::none) {
    now.limit = to_text(event.limit.stage);
    now.limit_share = event.limit.share;
    now.queue_fill = event.limit.queue_fill;
  }
  if (event.ranks.slowest >= 0) slowest_rank_ = event.ranks.slowest;
  now.slowest_rank = slowest_rank_;
  if (event.report) cpu_share_ = event.machine.use.cpu_share;
  if (cpu_share_ < 1) now.cpu_share = cpu_share_;
  now.eta_s = event.times.eta_s;
  progress_.update(now);
  if (const char* recovery = recovery_by(event.decision); recovery && metrics_)
    metrics_->write(
        "nonfinite",
        {{"iter", event.iteration}, {"loss", event.loss}, {"grad_norm", event.grad_norm}, {"recovery", recovery}});
  if (event.decision == Decision::leave_out && metrics_) metrics_->write("skipped", {{"iter", event.iteration}});
  if (event.iteration == 1 && event.machine.flops > 0 && metrics_)
    metrics_->write("model", {{"iter", event.iteration}, {"flops_per_step", event.machine.flops}});
  if (!event.report) return;
  now.loss = if_finite(event.loss);
  progress_.report(now);
  if (!metrics_) return;
  metrics_->write("train", train_line(event, parts, [this](const std::string& name) {
                    if (clashes_.insert(name).second)
                      log_warn(concat("metrics.jsonl: a train line has a `", name,
                                      "` of its own; that of a net, a step or a hook is left out"));
                  }));
}

void Display::show(const ValidationEvent& validation) {
  std::string line = concat("validation at iteration ", validation.iteration, ": ");
  JsonObject fields{{"iter", validation.iteration}};
  const auto& scalars = validation.scalars;
  const auto groups = metrics_of_groups(scalars);
  // Only metrics.jsonl has metrics of classes, of many groups and of groups without samples.
  const auto is_shown = [&](const std::string& name, double value) {
    if (!groups_ && is_of_class(name)) return false;
    return !groups.contains(name) || (groups.size() <= most_groups && !std::isnan(value));
  };
  for (auto& [name, value] : scalars) {
    if (is_shown(name, value)) line += (fields.size() > 1 ? "  " : "") + name + " " + format_loss(value);
    fields[name] = value;
  }
  if (validation.replaced > 0)
    line += concat("  (another sample in the place of a bad one: ", validation.replaced, ")");
  log_info(line + (validation.improved ? "  (best so far)" : ""));
  for (auto& sample : validation.texts) log_info("sample: " + to_line(sample));
  if (!metrics_) return;
  metrics_->write("val", fields);
  if (!validation.texts.empty()) metrics_->write("samples", samples_line(validation));
  if (validation.confusion) write_confusion(metrics_->path().parent_path() / "confusion.csv", *validation.confusion);
}

void Display::step(const StepEvent& event, const Scalars& scalars) {
  tasks_.check();
  show_later([this, event, shown = event.report ? scalars : Scalars()] { show(event, shown); });
}

void Display::validation(const ValidationEvent& event) {
  show_later([this, event] { show(event); });
}

void Display::epoch(std::uint64_t iteration, std::uint64_t epoch, const Scalars& means) {
  if (!metrics_) return;
  JsonObject fields{{"iter", iteration}, {"epoch", epoch + 1}};
  for (auto& [name, value] : means) fields[name] = value;
  show_later([this, fields = std::move(fields)] { metrics_->write("epoch", fields); });
}

void Display::finish() {
  end();
  tasks_.check();
}

LoggerEntry display_logger() {
  return {"display", "bar, log, metrics.jsonl", Display::depth, [](const LoggerInput& input) {
            const std::string& groups = *input.config.val().group_by;
            return std::make_unique<Display>(input.progress, input.last, input.metrics,
                                             /*groups=*/!groups.empty() && groups != "label");
          }};
}

}  // namespace flowtrain
