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
#include "stages/hook.h"

namespace {

using namespace flowtrain;

class EveryPoint final : public Hook {
 public:
  explicit EveryPoint(const Settings& settings) : settings_(settings) {}

  std::vector<Point> points() const override { return {all_points().begin(), all_points().end()}; }

  void at(Point point, Moment& moment) override {
    ++calls_;
    std::ofstream(settings_.text("log") + "." + std::to_string(moment.rank), std::ios::app)
        << name_of(point) << " " << moment.iteration << " " << moment.epoch << " " << moment.samples.size() << "\n";
    if (point == Point::loss && settings_.integer("slow_rank") == moment.rank)
      std::this_thread::sleep_for(std::chrono::milliseconds(settings_.integer("slow_ms")));
    const bool stops = settings_.integer("stop_rank") == moment.rank;
    if (point == Point::iteration_begin)
      for (auto& rates : moment.rates) rates.lr *= settings_.real("lr_factor");
    if (point == Point::batch && !settings_.text("rows").empty()) write_rows(moment);
    if (point == Point::batch && settings_.boolean("blank"))
      moment.batch->set("image", torch::zeros_like(moment.batch->at("image")));
    if (point == Point::loss) moment.losses->set("loss", moment.losses->at("loss") * settings_.real("loss_factor"));
    if (point == Point::backward)
      for (auto& [name, parameter] : *moment.parameters)
        parameter.mutable_grad().mul_(settings_.real("gradient_factor"));
    if (point == Point::backward && is(moment, "infinite_at"))
      moment.parameters->begin()->second.mutable_grad().fill_(std::numeric_limits<double>::infinity());
    if (name_of(point) == settings_.text("throw_in") && is(moment, "throw_at"))
      throw std::runtime_error("as the test wants it");
    if (point == Point::iteration_end && stops && is(moment, "stop_at")) moment.stop("the test wants it");
    if (point == Point::iteration_end) moment.log(settings_.text("figure"), static_cast<double>(calls_));
    if (point == Point::exception && !moment.error) throw std::logic_error("no error");
  }

  std::string state() const override { return std::to_string(calls_); }
  void restore(const std::string& state) override { calls_ = std::stoull(state); }

 private:
  bool is(const Moment& moment, const char* key) const {
    return moment.iteration == static_cast<std::uint64_t>(settings_.integer(key));
  }

  // "iteration id:source id:source …"; without a source where the batch has none.
  void write_rows(const Moment& moment) const {
    std::ofstream file(settings_.text("rows") + "." + std::to_string(moment.rank), std::ios::app);
    file << moment.iteration;
    const bool sourced = moment.batch->contains("source");
    for (std::size_t row = 0; row < moment.samples.size(); ++row) {
      file << " " << moment.samples[row];
      if (sourced) file << ":" << moment.batch->at("source")[static_cast<std::int64_t>(row)].item<std::int64_t>();
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
        {"figure", Kind::text, std::string("calls"), "what the number of calls is logged as"},
        {"stop_at", Kind::integer, std::int64_t{0}, "iteration after which the run is to end"},
        {"stop_rank", Kind::integer, std::int64_t{0}, "the process that asks for it"},
        {"throw_at", Kind::integer, std::int64_t{0}, "iteration that fails"},
        {"throw_in", Kind::text, std::string("step"), "the point where it does"},
        {"lr_factor", Kind::real, 1.0, "what each iteration's rate is multiplied by"},
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
