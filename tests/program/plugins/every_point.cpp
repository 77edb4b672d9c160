// A hook for tests: writes down where it was called, and does at each point what its keys say.

#include <torch/types.h>
#include <torch/utils.h>

#include <chrono>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <thread>

#include "nets/tensors.h"
#include "pipeline/plugin.h"
#include "stages/hooks/hook.h"

namespace {

using namespace flowtrain;

class EveryPoint final : public Hook {
 public:
  explicit EveryPoint(const Settings& settings) : settings_(settings) {}

  std::vector<HookEvent> events() const override { return {all_events().begin(), all_events().end()}; }

  void on_event(HookEvent event, HookContext& context) override {
    ++calls_;
    std::ofstream(settings_.text("log") + "." + std::to_string(context.rank), std::ios::app)
        << name_of(event) << " " << context.iteration << " " << context.epoch << " " << context.samples.size() << "\n";
    if (event == HookEvent::loss && settings_.integer("slow_rank") == context.rank)
      std::this_thread::sleep_for(std::chrono::milliseconds(settings_.integer("slow_ms")));
    const bool stops = settings_.integer("stop_rank") == context.rank;
    if (event == HookEvent::iteration_begin)
      for (auto& hyper : context.hyper) hyper.lr *= settings_.real("lr_mult");
    if (event == HookEvent::batch && !settings_.text("rows").empty()) write_rows(context);
    if (event == HookEvent::batch && settings_.boolean("blank"))
      context.batch->set("image", torch::zeros_like(context.batch->at("image")));
    if (event == HookEvent::loss)
      context.losses->set("loss", context.losses->at("loss") * settings_.real("loss_factor"));
    if (event == HookEvent::backward)
      for (auto& [name, parameter] : *context.parameters)
        parameter.mutable_grad().mul_(settings_.real("gradient_factor"));
    if (event == HookEvent::backward && is(context, "infinite_at"))
      context.parameters->begin()->second.mutable_grad().fill_(std::numeric_limits<double>::infinity());
    if (name_of(event) == settings_.text("throw_in") && is(context, "throw_at"))
      throw std::runtime_error("as the test wants it");
    if (event == HookEvent::iteration_end && stops && is(context, "stop_at")) context.stop("the test wants it");
    if (event == HookEvent::iteration_end) context.log(settings_.text("metric"), static_cast<double>(calls_));
    if (event == HookEvent::exception && !context.error) throw std::logic_error("no error");
  }

  std::string state() const override { return std::to_string(calls_); }
  void restore(const std::string& state) override { calls_ = std::stoull(state); }

 private:
  bool is(const HookContext& context, const char* key) const {
    return context.iteration == static_cast<std::uint64_t>(settings_.integer(key));
  }

  // "iteration id:source id:source …"; without a source where the batch has none.
  void write_rows(const HookContext& context) const {
    std::ofstream file(settings_.text("rows") + "." + std::to_string(context.rank), std::ios::app);
    file << context.iteration;
    const bool sourced = context.batch->contains("source");
    for (std::size_t row = 0; row < context.samples.size(); ++row) {
      file << " " << context.samples[row];
      if (sourced) file << ":" << context.batch->at("source")[static_cast<std::int64_t>(row)].item<std::int64_t>();
    }
    file << "\n";
  }

  const Settings settings_;
  std::uint64_t calls_ = 0;
};

void add() {
  hooks().add(
      {"every_point",
       "notes where it was called",
       {{"log", Kind::text, std::string(), "file to write to", 0, 0, {}, true},
        {"metric", Kind::text, std::string("calls"), "what the number of calls is logged as"},
        {"stop_at", Kind::integer, std::int64_t{0}, "iteration after which the run is to end"},
        {"stop_rank", Kind::integer, std::int64_t{0}, "the process that asks for it"},
        {"throw_at", Kind::integer, std::int64_t{0}, "iteration that fails"},
        {"throw_in", Kind::text, std::string("step"), "the point where it does"},
        {"lr_mult", Kind::real, 1.0, "what each iteration's rate is multiplied by"},
        {"loss_factor", Kind::real, 1.0, "what the loss is multiplied by"},
        {"gradient_factor", Kind::real, 1.0, "what gradients are multiplied by"},
        {"slow_ms", Kind::integer, std::int64_t{0}, "how long each forward takes in addition"},
        {"slow_rank", Kind::integer, std::int64_t{0}, "in this process"},
        {"blank", Kind::boolean, false, "pictures become grey"},
        {"rows", Kind::text, std::string(), "file for each batch's iteration, and the record and source of each row"},
        {"infinite_at", Kind::integer, std::int64_t{0}, "iteration of which a gradient becomes infinite"}},
       [](const Settings& settings, const HookInput&) { return std::make_unique<EveryPoint>(settings); }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
