// The decorator `faulty`: fails for a share of the samples, to rehearse a run's treatment of bad samples.
#include "sampling/core/registry.h"
#include "sampling/samplers/decorators/decorator.h"
#include "sampling/samplers/entries.h"

namespace flowtrain {
namespace {

constexpr std::uint64_t fault_draw = 1;

class FaultySampler final : public Decorator {
 public:
  FaultySampler(std::unique_ptr<Sampler> inner, double rate) : Decorator(std::move(inner)), rate_(rate) {}

  // The record counts, too, so that the replacement of a failed one may succeed.
  void sample(const Record& record, Stream& random, Row row) const override {
    if (draw_for_row(random, record.id, fault_draw) < rate_)
      throw SampleError(concat("failed on purpose: sampler.faulty_rate = ", rate_));
    inner().sample(record, random, row);
  }

 private:
  double rate_;
};

}  // namespace

SamplerEntry faulty_entry() {
  return {.name = "faulty",
          .help = "decorator that fails for a share of the samples, to rehearse data.bad and data.max_bad",
          .keys = {inner_key(),
                   {"faulty_rate", Kind::real, 0.001,
                    "share of the samples that fail, chosen by run.seed and their place in the stream", 0, 1}},
          .make = [](const Settings& settings, const SamplerInput& input) {
            return std::make_unique<FaultySampler>(make_inner("faulty", settings, input), settings.real("faulty_rate"));
          }};
}

}  // namespace flowtrain
