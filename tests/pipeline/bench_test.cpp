#include "pipeline/tools/bench.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "sampling/core/error.h"
#include "tests/support/failure_helper.h"
#include "tests/support/temp_folder.h"

using namespace flowtrain;

namespace {

/// Memory of its own, as a GPU has it, and how often it was copied to.
class StandIn : public Device {
 public:
  explicit StandIn(std::atomic<int>& copies) : copies_(copies) {}
  std::string name() const override { return "stand-in"; }
  bool copies() const override { return true; }
  void* allocate_host(std::size_t bytes) override { return std::malloc(bytes); }
  void free_host(void* memory) noexcept override { std::free(memory); }
  void* allocate_device(std::size_t bytes) override { return std::malloc(bytes); }
  void free_device(void* memory) noexcept override { std::free(memory); }
  void start_copy(std::uint32_t, void* to, const void* from, std::size_t bytes) override {
    ++copies_;
    std::memcpy(to, from, bytes);
  }
  void wait_copy(std::uint32_t) override {}
  void consumed(std::uint32_t) override {}
  void wait_host_free(std::uint32_t) override {}
  void normalise(const std::uint8_t*, float*, std::size_t, int, const float*, const float*) override {}
  void mix(const std::uint8_t*, float*, std::size_t, const PictureShape&, const PixelRule&, const PixelMix&) override {}

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
  CHECK(stages_of(run_bench(config, options)) == std::vector<std::string>{"order", "sample"});

  std::atomic<int> copies{0};
  options.device = [&] { return std::make_unique<StandIn>(copies); };
  options.stages = {"transfer"};
  const auto alone = run_bench(config, options);
  CHECK(stages_of(alone) == std::vector<std::string>{"transfer"});
  CHECK(alone.stages[0].items_per_s > 0);
  CHECK(alone.bottleneck == "transfer");
  CHECK(copies > 0);

  copies = 0;
  options.stages = {"pipeline"};
  const auto whole = run_bench(config, options);
  CHECK(whole.samples_per_s > 0);
  CHECK(copies > 0);
  check_failure(failure_of([&] { run_bench(config, {.stages = {"transform"}}); }), ExitCode::usage,
                "no stage is called 'transform'");
}
