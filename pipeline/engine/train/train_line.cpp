#include "pipeline/engine/train/train_line.h"

#include <cmath>
#include <string>

#include "sampling/core/text.h"

namespace flowtrain {

namespace {

void add_fields(JsonObject& fields, const JsonObject& more) { fields.insert(more.begin(), more.end()); }

void add_if_known(JsonObject& fields, const char* name, double value) {
  if (std::isfinite(value)) fields[name] = value;
}

// Returns the line's own fields, without `kind`, as far as they are known.
JsonObject fields_of(const StepEvent& event) {
  JsonObject fields{{"iter", event.iteration},
                    {"epoch", event.epoch + 1},
                    {"loss", event.loss},
                    {"lr", event.lr},
                    {"samples_per_s", event.times.samples_per_s},
                    {"data_wait", event.times.data_wait},
                    {"loss_avg", event.loss_avg},
                    {"data_time", event.times.data_s},
                    {"step_time", event.times.step_s},
                    {"step_p50", event.times.p50_s},
                    {"step_p99", event.times.p99_s},
                    {"grad_norm", event.grad_norm},
                    {"clipped", event.clipped},
                    {"elapsed_s", event.times.elapsed_s},
                    {"samples", event.samples}};
  if (event.limit.stage != Limit::none)
    add_fields(fields, {{"limit", to_text(event.limit.stage)},
                        {"limit_share", event.limit.share},
                        {"queue_fill", event.limit.queue_fill}});
  if (event.ranks.slowest >= 0)
    add_fields(fields, {{"slowest_rank", event.ranks.slowest},
                        {"slowest_time", event.ranks.slowest_s},
                        {"slowest_link", event.ranks.slowest_link},
                        {"link_time", event.ranks.link_s}});
  if (event.ranks.exchange_s > 0)
    add_fields(fields, {{"exchange_time", event.ranks.exchange_s}, {"exchange_hidden", event.ranks.exchange_hidden}});
  // The time of waiting for data is data_time.
  for (std::size_t i = static_cast<std::size_t>(Phase::transfer); i < phases; ++i)
    if (event.times.phase_s[i] > 0) fields[concat("time.", to_text(static_cast<Phase>(i)))] = event.times.phase_s[i];
  add_if_known(fields, "host_memory_mb", event.machine.use.host_memory_mb);
  add_if_known(fields, "gpu_memory_mb", event.machine.use.gpu_memory_mb);
  add_if_known(fields, "gpu_utilisation", event.machine.use.gpu_utilisation);
  add_if_known(fields, "cpu_share", event.machine.use.cpu_share);
  add_if_known(fields, "mfu", event.machine.mfu);
  return fields;
}

}  // namespace

JsonObject train_line(const StepEvent& event, const Scalars& logged,
                      const std::function<void(const std::string&)>& on_clash) {
  const JsonObject own = fields_of(event);
  JsonObject fields = own;
  for (auto& [name, value] : logged) {
    if (name != "kind" && own.count(name) == 0)
      fields[name] = value;
    else if (on_clash)
      on_clash(name);
  }
  return fields;
}

}  // namespace flowtrain
