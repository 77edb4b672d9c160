#include "pipeline/engine/prometheus/exposition.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "sampling/core/text.h"

namespace flowtrain {

namespace {

constexpr double mib = 1 << 20;

// A field of the train line, in Prometheus' base units.
struct Exposed {
  std::string_view field, name, help;
  double scale = 1;
};

constexpr Exposed exposed[] = {
    {"epoch", "flowtrain_epoch", "Epoch under way, from 1."},
    {"loss", "flowtrain_loss", "Training loss of the newest reported iteration."},
    {"loss_avg", "flowtrain_loss_average", "Mean training loss of the last 20 iterations whose loss was read."},
    {"lr", "flowtrain_learning_rate", "Learning rate of the first optimizer."},
    {"grad_norm", "flowtrain_gradient_norm", "Norm of the gradients before clipping."},
    {"clipped", "flowtrain_clipped_ratio", "Share of iterations whose gradients were clipped."},
    {"samples_per_s", "flowtrain_samples_per_second", "Samples trained per second, by all processes."},
    {"data_wait", "flowtrain_data_wait_ratio", "Share of the time that training waited for data."},
    {"data_time", "flowtrain_data_wait_seconds", "Mean wait of an iteration for data."},
    {"step_time", "flowtrain_compute_seconds", "Mean time of an iteration without the wait for data."},
    {"step_p50", "flowtrain_step_median_seconds", "Median time of an iteration."},
    {"step_p99", "flowtrain_step_p99_seconds", "99th percentile of the time of an iteration."},
    {"slowest_rank", "flowtrain_slowest_rank", "Process that the others wait for."},
    {"exchange_time", "flowtrain_exchange_seconds", "Mean time of an iteration's gradients on their way."},
    {"host_memory_mb", "flowtrain_host_memory_bytes", "Resident memory of the process and its children.", mib},
    {"gpu_memory_mb", "flowtrain_gpu_memory_bytes", "Memory used on the GPU.", mib},
    {"gpu_utilisation", "flowtrain_gpu_utilisation_ratio", "Share of the time with work on the GPU."},
    {"cpu_share", "flowtrain_cpu_share_ratio", "Share of the requested CPU time that the process got."},
    {"mfu", "flowtrain_mfu_ratio", "Model FLOPs utilisation."},
};

constexpr std::string_view phase_prefix = "time.";

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return nlohmann::json(value).dump();
}

std::string label_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '\\' || c == '"')
      quoted += {'\\', c};
    else if (c == '\n')
      quoted += "\\n";
    else
      quoted += c;
  }
  return quoted + '"';
}

class Page {
 public:
  explicit Page(const ExposedMetrics& metrics)
      : labels_(concat("run=", label_text(metrics.run), ",rank=\"", metrics.rank, "\"")) {}

  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    text_ += concat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
  }
  void sample(double value, std::string_view label = {}, std::string_view label_value = {}) {
    text_ += concat(name_, "{", labels_);
    if (!label.empty()) text_ += concat(",", label, "=", label_text(label_value));
    text_ += concat("} ", number_text(value), "\n");
  }
  std::string take() { return std::move(text_); }

 private:
  std::string labels_, name_, text_;
};

// The samples of a metric are adjacent, whatever the order of the fields.
using Labelled = std::vector<std::pair<std::string, double>>;

void add_labelled(Page& page, std::string_view name, std::string_view help, std::string_view label,
                  const Labelled& samples) {
  if (samples.empty()) return;
  page.begin(name, "gauge", help);
  for (auto& [label_value, value] : samples) page.sample(value, label, label_value);
}

}  // namespace

std::string exposition(const ExposedMetrics& metrics) {
  Page page(metrics);
  page.begin("flowtrain_iterations_total", "counter", "Iterations done.");
  page.sample(static_cast<double>(metrics.iterations));
  Labelled times, logged;
  for (auto& [field, value] : metrics.line) {
    if (!value.is_number() || field == "iter") continue;
    const auto known = std::ranges::find(exposed, std::string_view(field), &Exposed::field);
    if (known != std::end(exposed)) {
      page.begin(known->name, "gauge", known->help);
      page.sample(value.get<double>() * known->scale);
    } else if (field.starts_with(phase_prefix)) {
      times.emplace_back(field.substr(phase_prefix.size()), value.get<double>());
    } else {
      logged.emplace_back(field, value.get<double>());
    }
  }
  add_labelled(page, "flowtrain_phase_seconds", "Mean time of an iteration in a phase of training.", "phase", times);
  add_labelled(page, "flowtrain_logged", "Other fields of the train line, by name.", "name", logged);
  add_labelled(page, "flowtrain_validation", "Metrics of the newest validation.", "metric",
               {metrics.validation.begin(), metrics.validation.end()});
  return page.take();
}

}  // namespace flowtrain
