#include "pipeline/engine/isolation/isolated_sampler.h"

#include <algorithm>
#include <utility>

#include "pipeline/engine/isolation/protocol.h"
#include "pipeline/engine/isolation/sampler_process.h"
#include "sampling/core/error.h"
#include "sampling/core/mutex.h"
#include "sampling/core/text.h"
#include "sampling/samplers/stored.h"

namespace flowtrain {
namespace {

using namespace isolation;

constexpr const char* this_program = "/proc/self/exe";

class IsolatedSampler final : public Sampler {
 public:
  IsolatedSampler(const Settings& settings, const std::vector<std::string>& plugins, const SamplerInput& input)
      : time_limit_(settings.real("process_timeout")) {
    const Dataset& dataset = input.dataset;
    Setup setup{.plugins = plugins,
                .settings = settings,
                .fields = {input.fields.begin(), input.fields.end()},
                .training = input.training,
                .needs_targets = input.needs_targets,
                .size = dataset.size(),
                .fingerprint = dataset.fingerprint(),
                .classes = dataset.classes(),
                .missing_labels = dataset.missing_labels(),
                .has_boxes = dataset.has_boxes(),
                .parts = dataset.parts()};
    find_first(dataset, setup);
    setup_ = to_bytes(setup);
    auto process = start();
    made_ = process->made();
    if (free_axes_of(made_.fields) > most_axes) throw InternalError("a row has more than 32 free axes");
    give_back(std::move(process));
  }

  std::vector<Field> fields() const override { return made_.fields; }
  bool takes_blocks() const override { return made_.takes_blocks; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    run([&](SamplerProcess& process) { process.measure(record, extents); });
  }
  void sample(const Record& record, Stream& random, Row row) const override {
    run([&](SamplerProcess& process) { process.sample(record, random, row); });
  }
  void sample_rows(std::span<const Record* const> records, Row first) const override {
    run([&](SamplerProcess& process) { process.sample_rows(records, first); });
  }

 private:
  // Finds the first readable record: samplers read it to learn the form of all (sampling/samplers/stored.h).
  void find_first(const Dataset& dataset, Setup& setup) {
    ReadBuffer buffer;
    for (std::uint64_t id = 0; id < std::min(dataset.size(), records_tried) && !setup.first_id; ++id) try {
        first_ = std::make_unique<KeptRecord>(dataset.read(id, buffer));
        setup.first_id = id;
      } catch (const SampleError& error) {
        if (id == 0) setup.unreadable = dataset.describe(id) + ": " + error.what();
      }
  }

  std::unique_ptr<SamplerProcess> start() const {
    return std::make_unique<SamplerProcess>(this_program, setup_, first_ ? &first_->record() : nullptr,
                                            std::chrono::duration<double>(time_limit_));
  }

  template <class Work>
  void run(Work work) const {
    constexpr int most_attempts = 3;
    for (int attempt = 1;; ++attempt) {
      auto process = take();
      try {
        work(*process);
      } catch (const ProcessLost& lost) {
        // A process that ended before it began has cost nothing.
        if (lost.began() || attempt == most_attempts) throw SampleError(concat("the sampler's process ", lost.what()));
        continue;
      } catch (...) {
        give_back(std::move(process));
        throw;
      }
      return give_back(std::move(process));
    }
  }

  std::unique_ptr<SamplerProcess> take() const {
    {
      const MutexLock lock(mutex_);
      if (!free_.empty()) {
        auto process = std::move(free_.back());
        free_.pop_back();
        return process;
      }
    }
    return start();
  }
  void give_back(std::unique_ptr<SamplerProcess> process) const {
    const MutexLock lock(mutex_);
    free_.push_back(std::move(process));
  }

  double time_limit_;  // limit in seconds
  std::unique_ptr<KeptRecord> first_;
  std::string setup_;
  Made made_;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<SamplerProcess>> free_ FT_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Sampler> make_isolated_sampler(const Settings& settings, const std::vector<std::string>& plugins,
                                               const SamplerInput& input) {
  return std::make_unique<IsolatedSampler>(settings, plugins, input);
}

}  // namespace flowtrain
