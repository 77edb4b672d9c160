#include "pipeline/tools/bench/bench.h"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>

#include "sampling/core/error.h"
#include "tests/support/failure_helper.h"
#include "tests/support/fakes.h"
#include "tests/support/sounds.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::bench_test {

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

/// Writes four recordings, of 1,000 to 4,000 samples at 16 kHz, and returns the sum of their files' bytes.
std::size_t write_recordings(const TempFolder& folder) {
  std::size_t bytes = 0;
  for (std::uint64_t i = 1; i <= 4; ++i) {
    const std::string wav = wav_of(tone(1000 * i));
    folder.write("sounds/" + std::to_string(i) + ".wav", wav);
    bytes += wav.size();
  }
  return bytes;
}

/// A configuration of these recordings, without classes; `more` follows.
Config recordings(const TempFolder& folder, const std::string& more) {
  folder.write("sounds.toml", "[data]\ndataset = \"audio_folder\"\nlabels = \"none\"\nval_share = 0\npath = \"" +
                                  (folder.path() / "sounds").string() +
                                  "\"\n[[field]]\nname = \"wave\"\nfrom = \"audio\"\nas = \"wave\"\nmax = 1.0\n" +
                                  more);
  return load_config(folder.path() / "sounds.toml");
}

/// Returns the bytes that the first stage makes of a sample, on the average.
double bytes_of_sample(const BenchReport& report) {
  return report.stages.at(0).mb_per_s * 1e6 / report.stages.at(0).items_per_s;
}

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

TEST_CASE("bench counts the bytes of the parts that are read, and those of rows without padding") {
  const TempFolder folder;
  const std::size_t bytes = write_recordings(folder);
  const Config config = recordings(folder, "[loader]\nbatch = 4\n");
  const auto report = run_bench(config, {.seconds = 0.05, .stages = {"read"}});
  REQUIRE(stages_of(report) == std::vector<std::string>{"read"});
  CHECK(bytes_of_sample(report) == doctest::Approx(static_cast<double>(bytes) / 4));

  // A sample has a mean of 2,500 numbers of 4 bytes; a field of 8 bytes tells how many, of packed rows two of 4 each.
  const double padded = 2500 * 4 + 8, packed = 2500 * (4 + 4 + 4);
  const BenchOptions sampled{.seconds = 0.05, .stages = {"sample"}};
  CHECK(bytes_of_sample(run_bench(config, sampled)) == doctest::Approx(padded));
  const Config in_one_row = recordings(folder, "[loader]\nbatch = 1\npack = true\n");
  CHECK(bytes_of_sample(run_bench(in_one_row, sampled)) == doctest::Approx(packed));
}

TEST_CASE("bench tells the seconds of sound, without padding") {
  const TempFolder folder;
  write_recordings(folder);
  BenchOptions options{.seconds = 0.05, .stages = {"pipeline"}};
  for (const std::string more : {"batch = 4\n", "batch = 1\npack = true\n"}) {
    CAPTURE(more);
    const auto report = run_bench(recordings(folder, "[loader]\n" + more), options);
    CHECK(report.sound_s_per_s == doctest::Approx(report.samples_per_s * 2500 / 16000));
    CHECK(to_table(report).find("   seconds of sound per second, without padding\n") != std::string::npos);
    CHECK(to_json(report).find("\"sound_s_per_s\": ") != std::string::npos);
  }
  folder.write("text.jsonl", "{\"text\": \"one\"}\n{\"text\": \"two\"}\n");
  folder.write("text.toml", "[data]\ndataset = \"manifest\"\nval_share = 0\npath = \"" +
                                (folder.path() / "text.jsonl").string() +
                                "\"\n[[field]]\nname = \"text\"\nfrom = \"text\"\nas = \"bytes\"\nmax = 8\n");
  const auto text = run_bench(load_config(folder.path() / "text.toml"), options);
  CHECK(text.counted == "text");
  CHECK(text.sound_s_per_s == 0);
  CHECK(to_json(text).find("sound") == std::string::npos);
}

}  // namespace flowtrain::bench_test
