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

// The line's own, without `kind`. What is not known is left out.
JsonObject fields_of(const StepEvent& event) {
  JsonObject fields{{"iter", event.iteration},
                    {"epoch", event.epoch + 1},
                    {"loss", event.loss},
                    {"lr", event.lr},
                    {"samples_per_s", event.samples_per_s},
                    {"data_wait", event.data_wait},
                    {"loss_avg", event.loss_avg},
                    {"data_time", event.data_time_s},
                    {"step_time", event.step_time_s},
                    {"step_p50", event.step_p50_s},
                    {"step_p99", event.step_p99_s},
                    {"grad_norm", event.grad_norm},
                    {"clipped", event.clipped},
                    {"elapsed_s", event.elapsed_s},
                    {"samples", event.samples}};
  if (event.limit != Limit::none)
    add_fields(fields,
               {{"limit", to_text(event.limit)}, {"limit_share", event.limit_share}, {"queue_fill", event.queue_fill}});
  if (event.slowest_rank >= 0)
    add_fields(fields, {{"slowest_rank", event.slowest_rank},
                        {"slowest_time", event.slowest_s},
                        {"slowest_link", event.slowest_link},
                        {"link_time", event.link_s}});
  if (event.exchange_s > 0)
    add_fields(fields, {{"exchange_time", event.exchange_s}, {"exchange_hidden", event.exchange_hidden}});
  // Waiting for data is data_time already.
  for (std::size_t i = static_cast<std::size_t>(Phase::transfer); i < phases; ++i)
    if (event.phase_s[i] > 0) fields[concat("time.", to_text(static_cast<Phase>(i)))] = event.phase_s[i];
  add_if_known(fields, "host_memory_mb", event.machine.host_memory_mb);
  add_if_known(fields, "gpu_memory_mb", event.machine.gpu_memory_mb);
  add_if_known(fields, "gpu_utilisation", event.machine.gpu_utilisation);
  add_if_known(fields, "cpu_share", event.machine.cpu_share);
  add_if_known(fields, "mfu", event.mfu);
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
