#include "pipeline/tools/bench/bench.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "sampling/core/error.h"
#include "tests/support/failure_helper.h"
#include "tests/support/fakes.h"
#include "tests/support/temp_folder.h"

using namespace flowtrain;

namespace {

/// Counts the copies.
class CountingDevice : public testing::CopyingDevice {
 public:
  explicit CountingDevice(std::atomic<int>& copies) : copies_(copies) {}
  void start_copy(std::uint32_t slot, void* to, const void* from, std::size_t bytes) override {
    ++copies_;
    CopyingDevice::start_copy(slot, to, from, bytes);
  }

 private:
  std::atomic<int>& copies_;
};

std::vector<std::string> stages_of(const BenchReport& report) {
  std::vector<std::string> names;
  for (auto& stage : report.stages) names.push_back(stage.name);
  return names;
}

}  // namespace

TEST_CASE("bench measures the transfer to a device that copies, alone and in the whole loader") {
  const TempFolder folder;
  folder.write("a.toml",
               "[data]\ndataset = \"shapes\"\nsamples = 64\nsize = 16\n[loader]\nbatch = 8\nworkers = 1\n[net]\nname = "
               "\"mlp\"\n");
  const Config config = load_config(folder.path() / "a.toml");
  BenchOptions options{.seconds = 0.01};
  CHECK(stages_of(run_bench(config, options)) == std::vector<std::string>{"plan", "sample"});

  std::atomic<int> copies{0};
  options.device = [&] { return std::make_unique<CountingDevice>(copies); };
  options.stages = {"transfer"};
  const auto alone = run_bench(config, options);
  CHECK(stages_of(alone) == std::vector<std::string>{"transfer"});
  CHECK(alone.stages[0].items_per_s > 0);
  CHECK(alone.limit == "transfer");
  CHECK(copies > 0);

  copies = 0;
  options.stages = {"pipeline"};
  const auto whole = run_bench(config, options);
  CHECK(whole.samples_per_s > 0);
  CHECK(copies > 0);
  check_failure(failure_of([&] { run_bench(config, {.stages = {"transform"}}); }), ExitCode::usage,
                "there is no stage 'transform'");
}
