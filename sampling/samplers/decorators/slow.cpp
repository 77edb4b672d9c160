// The decorator `slow`: adds processor time to each sample, to find out how much headroom a training has.
#include <ctime>

#include "sampling/core/registry.h"
#include "sampling/samplers/decorators/decorator.h"
#include "sampling/samplers/entries.h"

namespace flowtrain {
namespace {

/// Returns the processor time of this thread, which excludes waiting for a core.
double thread_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

class SlowSampler final : public Decorator {
 public:
  SlowSampler(std::unique_ptr<Sampler> inner, double us) : Decorator(std::move(inner)), us_(us) {}

  void sample(const Record& record, Stream& random, Row row) const override {
    inner().sample(record, random, row);
    for (const double end = thread_us() + us_; thread_us() < end;) {
    }
  }

 private:
  double us_;
};

}  // namespace

SamplerEntry slow_entry() {
  return {
      .name = "slow",
      .help = "decorator that adds time to each sample, to find out how much headroom a training has",
      .keys = {inner_key(),
               {"slow_us", Kind::real, 100.0, "microseconds of processor time that are added to each sample", 0, 1e8}},
      .make = [](const Settings& settings, const SamplerInput& input) {
        return std::make_unique<SlowSampler>(make_inner("slow", settings, input), settings.real("slow_us"));
      }};
}

}  // namespace flowtrain
