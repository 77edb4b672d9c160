// Damaged pictures in training and validation, as files of a whole run: every one is in the bad-sample log once, the
// substitutes are the same whatever workers, prefetch and interruptions are, and the budget stops the run with the
// list.

#include <doctest/doctest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "pipeline/base/telemetry/interrupt.h"
#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/session/run.h"
#include "sampling/codecs/encode.h"
#include "sampling/core/error.h"
#include "tests/pipeline/engine/leak_check.h"
#include "tests/pipeline/engine/stress/hashing_learner.h"
#include "tests/support/failure_helper.h"
#include "tests/support/fault_points.h"
#include "tests/support/pictures.h"
#include "tests/support/read_text.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::bad_pictures_test {

using namespace flowtrain::testing;

namespace fs = std::filesystem;

namespace {

const std::uint64_t train_config = FaultPoints::all() ? 1000 * times() : 320, val = 200;
constexpr std::uint64_t one_bad_in = 20;
constexpr std::size_t after_pixels = 24;  // of a PNG: checksums and the end mark, without which it is whole

// Flipped in the middle of its data until a decoder notices: not every flip leaves a trace.
std::string garbled(std::string file, Stream& random) {
  for (;;) {
    file[file.size() / 2 + random.below(file.size() / 4)] ^= static_cast<char>(1 + random.below(255));
    Image image;
    try {
      decode_image(std::as_bytes(std::span(file)), image);
    } catch (const SampleError&) {
      return file;
    }
  }
}

// 5 % of the pictures are damaged, in turn in each of six ways.
class Pictures {
 public:
  Pictures() {
    const auto jpeg = encode_jpeg(gradient_picture(16, 16, 3));
    const auto png = encode_png(gradient_picture(16, 16, 3).view());
    jpeg_.assign(reinterpret_cast<const char*>(jpeg.data()), jpeg.size());
    png_.assign(reinterpret_cast<const char*>(png.data()), png.size());
    write("train", train_config);
    write("val", val);
  }

  const TempFolder& folder() const { return folder_; }
  const std::set<std::uint64_t>& bad(const std::string& split) const {
    return split == "train" ? bad_train_ : bad_val_;
  }

 private:
  void write(const std::string& split, std::uint64_t count) {
    Stream random(count, Purpose::dataset, 0);
    for (std::uint64_t id = 0; id < count; ++id) {
      char name[64];
      std::snprintf(name, sizeof name, "pictures/%s/%s/%06d.jpg", split.c_str(), id < count / 2 ? "a" : "b",
                    static_cast<int>(id));
      const bool is_bad = id % one_bad_in == random.below(one_bad_in) || id % 97 == 5;
      if (!is_bad) {
        folder_.write(name, jpeg_);
        continue;
      }
      auto& bad = split == "train" ? bad_train_ : bad_val_;
      switch (bad.size() % 6) {
        case 0: folder_.write(name, jpeg_.substr(0, random.below(jpeg_.size()))); break;
        case 1: folder_.write(name, garbled(jpeg_, random)); break;
        case 2: folder_.write(name, ""); break;
        case 3: folder_.write(name, "This is a text, whatever its name says.\n"); break;
        case 4: folder_.write(name, png_.substr(0, png_.size() - after_pixels - random.below(png_.size() / 2))); break;
        case 5: fs::create_symlink("nowhere.jpg", folder_.path() / name); break;
      }
      bad.insert(id);
    }
  }

  TempFolder folder_;
  std::string jpeg_, png_;
  std::set<std::uint64_t> bad_train_, bad_val_;
};

const Pictures& pictures() {
  static const Pictures made;
  return made;
}

struct LineSettings {
  int workers = 2, readers = 2, prefetch = 4;
  std::string max_bad = "\"20%\"", val_max_bad = "\"20%\"", bad = "skip";
};

// One run in near silence; goes on where `run` exists. Returns its exit code.
int train(const fs::path& run, const LineSettings& settings, HashingLearner::Hooks hooks = {}) {
  set_console_level(ConsoleLevel::quiet);
  std::ostringstream config;
  config << "name = \"bad\"\n[run]\nmax_epochs = 2\ndevice = \"cpu\"\n"
         << "[data]\ndataset = \"image_folder\"\npath = " << pictures().folder().path() / "pictures"
         << "\nmax_bad = " << settings.max_bad << "\nbad = \"" << settings.bad << "\"\n"
         << "[data.val]\nmax_bad = " << settings.val_max_bad << "\n[sampler]\nsize = 8\n"
         << "[loader]\nbatch = 32\nworkers = " << settings.workers << "\nreaders = " << settings.readers
         << "\nprefetch = " << settings.prefetch << "\n[net]\nname = \"mlp\"\n[val]\nevery = 7\nbatches = 3\n"
         << "[snapshot]\nevery = 6\n[display]\nprogress = \"off\"\n";
  StartOptions options;
  options.config = pictures().folder().write("config.toml", config.str()).string();
  options.run_dir = run;
  options.resume = "auto";
  auto make_learner = [&](const LearnerSpec&) { return std::make_unique<HashingLearner>(hooks); };
  Interrupt interrupt;
  return run_training(prepare_start(options), {}, make_learner, interrupt);
}

std::vector<nlohmann::json> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<nlohmann::json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::string bad_sample_log_of(const fs::path& run) { return read_text(run / "bad_samples.jsonl"); }

// "params order" at the end of a run.
std::string end_of(const fs::path& run) {
  for (auto& line : lines_of(run / "metrics.jsonl"))
    if (line.at("kind") == "end")
      return line.at("params_xxh64").get<std::string>() + " " + line.at("order_xxh64").get<std::string>();
  throw std::runtime_error(run.string() + " has no end");
}

}  // namespace

TEST_CASE("each damaged picture is in the bad-sample log once, with the same substitute at any number of workers" *
          points_sampled) {
  const TempFolder runs;
  const auto first = runs.path() / "first";
  REQUIRE(train(first, {}) == 0);
  for (const std::string split : {"train", "val"}) {
    std::multiset<std::uint64_t> listed;
    for (auto& line : lines_of(first / "bad_samples.jsonl")) {
      if (line.at("split") != split) continue;
      const std::uint64_t id = line.at("id");
      listed.insert(id);
      CHECK(line.at("name").get<std::string>().find("/" + split + "/") != std::string::npos);
      CHECK(line.at("substitute") != id);
      CHECK(!line.at("reason").get<std::string>().empty());
      const bool gone = line.at("reason").get<std::string>().find("No such file") != std::string::npos;
      CHECK(line.at("stage") == (gone ? "read" : "sample"));
    }
    CHECK(listed == std::multiset<std::uint64_t>(pictures().bad(split).begin(), pictures().bad(split).end()));
  }
  const auto first_line = lines_of(first / "bad_samples.jsonl").front();
  CHECK(first_line.at("iter") == 1);
  CHECK(first_line.at("epoch") == 1);

  int number = 0;
  const std::vector<LineSettings> others{{1, 1, 1}, {1, 4, 8}, {2, 1, 8}, {4, 2, 1}, {4, 4, 8}};
  for (auto& settings : others) {
    const auto run = runs.path() / std::to_string(++number);
    REQUIRE(train(run, settings) == 0);
    CHECK(bad_sample_log_of(run) == bad_sample_log_of(first));
    CHECK(end_of(run) == end_of(first));
  }
  FaultPoints points("pictures");
  points.count(train_config);
  points.finish();
}

TEST_CASE("the bad-sample log of a run that was ended, and went on, is that of one that was not") {
  const TempFolder runs;
  const auto straight = runs.path() / "straight";
  REQUIRE(train(straight, {}) == 0);
  SUBCASE("by an error, again and again") {
    const auto run = runs.path() / "died";
    for (std::uint64_t last : {9, 13, 16, 19}) {
      HashingLearner::Hooks hooks;
      hooks.backward = [last](const Slab& slab) {
        if (slab.ticket().iteration == last) throw std::runtime_error("killed");
      };
      CHECK_THROWS_WITH(train(run, {}, hooks), "killed");
    }
    REQUIRE(train(run, {4, 4, 8}) == 0);
    CHECK(bad_sample_log_of(run) == bad_sample_log_of(straight));
    CHECK(end_of(run) == end_of(straight));
  }
  SUBCASE("by a signal within a validation") {
    const auto run = runs.path() / "interrupted";
    HashingLearner::Hooks hooks;
    hooks.validate = [batches = 0]() mutable {
      if (++batches == 5) raise(SIGTERM);
    };
    CHECK(train(run, {}, hooks) == 143);
    REQUIRE(train(run, {}) == 0);
    CHECK(bad_sample_log_of(run) == bad_sample_log_of(straight));
    CHECK(end_of(run) == end_of(straight));
  }
}

TEST_CASE("the budget stops the run with the list") {
  const TempFolder runs;
  const auto run = runs.path() / "run";
  LineSettings settings;
  SUBCASE("of training") {
    settings.max_bad = "7";
    const auto failure = failure_of([&] { train(run, settings); });
    check_failure(failure, ExitCode::data, "; that is more than data.max_bad = 7 allows; the bad samples are ");
    check_failure(failure, ExitCode::data, "bad sample ");
    CHECK(failure.hint().find((run / "bad_samples.jsonl").string()) != std::string::npos);
    CHECK(lines_of(run / "bad_samples.jsonl").size() == 8);
  }
  SUBCASE("of validation") {
    settings.val_max_bad = "3";
    const auto failure = failure_of([&] { train(run, settings); });
    check_failure(failure, ExitCode::data, "bad sample of val ");
    check_failure(failure, ExitCode::data, "; that is more than data.val.max_bad = 3 allows; the bad samples are ");
    std::size_t of_validation = 0;
    for (auto& line : lines_of(run / "bad_samples.jsonl")) of_validation += line.at("split") == "val";
    CHECK(of_validation == 4);
  }
  SUBCASE("of none at all") {
    settings.bad = "stop";
    const auto failure = failure_of([&] { train(run, settings); });
    check_failure(failure, ExitCode::data, " at iteration 1: ");
    CHECK(lines_of(run / "bad_samples.jsonl").size() == 1);
  }
}

}  // namespace flowtrain::bad_pictures_test
