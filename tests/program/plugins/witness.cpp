// A hook for tests: logs what it saw of an iteration, so that what a run reports can be held against it; keeps a sum
// over all iterations in its state; and makes gradients infinite where it is told to.

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>

#include "nets/tensors.h"
#include "pipeline/plugin.h"
#include "stages/hooks/hook.h"

namespace {

using namespace flowtrain;

class Witness final : public Hook {
 public:
  explicit Witness(const Settings& settings)
      : log_(settings.text("log")),
        sum_every_(static_cast<std::uint64_t>(settings.integer("sum_every"))),
        slow_(settings.integer("slow_ms")),
        infinite_at_(settings.integers("infinite_at")) {}

  std::vector<HookEvent> events() const override {
    return {HookEvent::loss, HookEvent::backward, HookEvent::iteration_end, HookEvent::snapshot_begin,
            HookEvent::snapshot_end};
  }

  void on_event(HookEvent event, HookContext& context) override {
    switch (event) {
      case HookEvent::loss: return see(context);
      case HookEvent::backward: return spoil(context);
      case HookEvent::iteration_end: return tell(context);
      default: note(event, context);
    }
  }

  std::string state() const override {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17g", sum_);
    return digits;
  }
  void restore(const std::string& state) override { sum_ = std::stod(state); }

 private:
  void see(const HookContext& context) {
    std::this_thread::sleep_for(slow_);
    const auto rows = static_cast<double>(context.samples.size());
    rows_ += rows;
    lowered_ += rows * context.losses->at("loss").item<double>();
    ++forwards_;
  }

  void spoil(const HookContext& context) const {
    if (std::find(infinite_at_.begin(), infinite_at_.end(), context.iteration) == infinite_at_.end()) return;
    for (auto& [name, parameter] : *context.parameters)
      if (parameter.grad().defined()) return (void)parameter.mutable_grad().fill_(infinity);
  }

  void tell(HookContext& context) {
    const double loss = rows_ > 0 ? lowered_ / rows_ : 0;
    sum_ += loss;
    context.log("witness.loss", loss);
    context.log("witness.forwards", forwards_);
    if (context.iteration % sum_every_ == 0) context.log("witness.sum", sum_);
    rows_ = lowered_ = forwards_ = 0;
  }

  void note(HookEvent event, const HookContext& context) const {
    std::ofstream(log_ + "." + std::to_string(context.rank), std::ios::app)
        << name_of(event) << " " << context.iteration << "\n";
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();

  const std::string log_;
  const std::uint64_t sum_every_;
  const std::chrono::milliseconds slow_;
  const std::vector<std::int64_t> infinite_at_;
  double rows_ = 0, lowered_ = 0, forwards_ = 0;  // of the iteration under way
  double sum_ = 0;                                // of the mean losses of all iterations
};

void add() {
  hooks().add({"witness",
               "logs the loss that it saw, over this process's rows",
               {{.name = "log",
                 .kind = Kind::text,
                 .fallback = std::string(),
                 .help = "file to which it notes its calls at snapshots; .RANK is added",
                 .required = true},
                {"sum_every", Kind::integer, std::int64_t{1}, "iterations from sum to sum", 1, 1e6},
                {"slow_ms", Kind::integer, std::int64_t{0}, "how much longer each forward takes", 0, 1e6},
                {"infinite_at", Kind::integers, std::vector<std::int64_t>{},
                 "iterations of which a gradient becomes infinite"}},
               [](const Settings& settings, const HookInput&) { return std::make_unique<Witness>(settings); }});
}

}  // namespace

FLOWTRAIN_PLUGIN(add)
