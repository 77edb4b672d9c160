// The parts of `flowtrain test` that need no net.

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "pipeline/base/config/inference_settings.h"
#include "pipeline/inference/evaluation/confusion_picture.h"
#include "pipeline/inference/evaluation/detection_errors.h"
#include "pipeline/inference/evaluation/significance.h"
#include "pipeline/inference/evaluation/summary.h"
#include "pipeline/inference/evaluation/test_sets.h"
#include "sampling/batches.h"
#include "tests/support/failure_helper.h"
#include "tests/support/read_text.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::evaluation_test {
namespace {

Config config_with(const TempFolder& folder, const std::string& text) {
  return load_config(folder.write("c.toml", "[data]\ndataset = \"shapes\"\nsamples = 64\nval_samples = 8\n" + text));
}

std::vector<std::string> names_of(const std::vector<InferenceSetting>& settings) {
  std::vector<std::string> names;
  for (auto& setting : settings) names.push_back(setting.name);
  return names;
}

std::vector<std::string> names_of(const std::vector<SetConfig>& sets) {
  std::vector<std::string> names;
  for (auto& set : sets) names.push_back(set.name);
  return names;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("processes that take turns with whole batches have those of one, each once") {
  for (const std::uint64_t samples : {1, 7, 16, 23})
    for (const std::uint64_t world : {1, 2, 5}) {
      const Batches all(samples, 4, LastBatch::pad);
      std::uint64_t batches = 0;
      for (std::uint64_t rank = 0; rank < world; ++rank) {
        const Batches own = all.every(rank, world);
        batches += own.per_epoch();
        for (std::uint64_t number = 0; number < own.per_epoch(); ++number) {
          const std::uint64_t whole = number * world + rank;
          CHECK(own.rows(number) == all.rows(whole));
          CHECK(own.index(number, 0) == all.index(whole, 0));
          CHECK(own.position(number, 2) == all.position(whole, 2));
          CHECK(own.epoch(number) == 0);
        }
      }
      CHECK(batches == all.per_epoch());
    }
}

TEST_CASE("settings are given one by one, and as combinations of values") {
  const TempFolder folder;
  CHECK(names_of(inference_settings(config_with(folder, ""))) == Texts{""});
  const Config both = config_with(folder,
                                  "[[test.setting]]\nname = \"plain\"\n"
                                  "[[test.setting]]\nname = \"mirrored\"\nset = [\"val.flip=true\"]\n"
                                  "[[test.sweep]]\nset = [\"sampler.size=16|24\", \"val.batch=8|4\"]\n"
                                  "[[test.sweep]]\nset = [\"val.amp=off|bf16\"]\n");
  const auto settings = inference_settings(both);
  CHECK(names_of(settings) == Texts{"plain", "mirrored", "size=16,batch=8,amp=off", "size=16,batch=8,amp=bf16",
                                    "size=24,batch=4,amp=off", "size=24,batch=4,amp=bf16"});
  REQUIRE(settings.back().overrides.size() == 3);
  CHECK(settings.back().overrides[0].key == "sampler.size");
  CHECK(settings.back().overrides[1].value == "4");
  CHECK(settings[0].overrides.empty());
  check_failure(failure_of([&] { config_with(folder, "[[test.sweep]]\nset = [\"a.b=1|2|3\", \"c.d=1|2\"]\n"); }),
                ExitCode::usage, "'c.d=1|2' has 2 values, a key before it 3");
  const Config shared = config_with(folder, "[[test.sweep]]\nset = [\"val.flip=true\", \"val.batch=8|4\"]\n");
  CHECK(names_of(inference_settings(shared)) == Texts{"flip=true,batch=8", "flip=true,batch=4"});
  check_failure(failure_of([&] { config_with(folder, "[[test.setting]]\nname = \"x\"\nset = [\"flip\"]\n"); }),
                ExitCode::usage, "'flip': expected key=value");
  check_failure(failure_of([&] { config_with(folder, "[[test.setting]]\nname = \"a/b\"\n"); }), ExitCode::usage,
                "expected a name without slashes");
}

TEST_CASE("a test is of its own sets where there are any, and of those that are named") {
  const TempFolder folder;
  const std::string val = "[[val.set]]\nname = \"night\"\nval_samples = 9\n";
  CHECK(names_of(test_sets(config_with(folder, val), {})) == Texts{"", "night"});
  const Config config =
      config_with(folder, val + "[data.test]\nval_samples = 10\n[[test.set]]\nname = \"snow\"\nsize = 8\n");
  const auto own = test_sets(config, {});
  REQUIRE(names_of(own) == Texts{"test", "snow"});
  CHECK(own[0].config.data(false).integer("val_samples") == 10);
  CHECK(own[1].config.data(false).integer("val_samples") == 10);  // as [data.test]
  CHECK(own[1].config.data(false).integer("size") == 8);
  CHECK(config.data(false).integer("val_samples") == 8);
  CHECK(names_of(test_sets(config, {"night", "val", "test"})) == Texts{"night", "", "test"});
  check_failure(failure_of([&] { test_sets(config, {"rain"}); }), ExitCode::usage,
                "--sets rain: this set does not exist");
  check_failure(failure_of([&] { config_with(folder, "[[test.set]]\nname = \"val\"\n"); }), ExitCode::usage,
                "'val' is what [data.val] is called");
}

// statsmodels.stats.contingency_tables.mcnemar(exact=True) gives these.
TEST_CASE("McNemar's test is the exact binomial one") {
  CHECK(mcnemar(0, 0) == 1);
  CHECK(mcnemar(7, 7) == 1);
  CHECK(mcnemar(10, 2) == doctest::Approx(0.03857421875));
  CHECK(mcnemar(2, 10) == mcnemar(10, 2));
  CHECK(mcnemar(0, 6) == doctest::Approx(0.03125));
  CHECK(mcnemar(1000, 1100) == doctest::Approx(0.0308).epsilon(0.01));
}

TEST_CASE("a paired bootstrap sees a difference that is there, and none that is not, and draws alike each time") {
  std::vector<double> better(200), even(200);
  for (std::size_t i = 0; i < better.size(); ++i) {
    better[i] = 0.1 + 0.05 * std::sin(static_cast<double>(i));
    even[i] = std::sin(static_cast<double>(i));
  }
  const auto test = [](const std::vector<double>& differences, std::uint64_t seed) {
    return paired_bootstrap(differences.size(), 500, seed, [&](std::span<const std::uint32_t> drawn) {
      double sum = 0;
      std::uint64_t all = 0;
      for (std::size_t i = 0; i < drawn.size(); ++i) sum += drawn[i] * differences[i], all += drawn[i];
      CHECK(all == differences.size());
      return sum / static_cast<double>(differences.size());
    });
  };
  const auto real = test(better, 1), none = test(even, 1), again = test(even, 1);
  CHECK(real.p < 0.01);
  CHECK(real.low > 0.08);
  CHECK(real.high < 0.12);
  CHECK(none.p > 0.2);
  CHECK(none.low < 0);
  CHECK(none.high > 0);
  CHECK(again.low == none.low);
  CHECK(again.p == none.p);
}

TEST_CASE("a picture's errors are objects that were missed and boxes that are wrong") {
  GroundTruth truth{{1}, {{0, "a"}, {1, "b"}}, {}};
  truth.objects = {
      {1, 0, 0, 0, 10, 10, 100, false}, {1, 1, 20, 20, 10, 10, 100, false}, {1, 0, 50, 50, 9, 9, 81, true}};
  const std::vector<FoundObject> found{{1, 0, 0, 0, 10, 10, 0.9},    // right
                                       {1, 0, 1, 1, 10, 10, 0.8},    // the same object again
                                       {1, 0, 20, 20, 10, 10, 0.7},  // of another class
                                       {1, 1, 20, 20, 10, 10, 0.2},  // too unsure
                                       {1, 0, 50, 50, 9, 9, 0.6}};   // to be ignored
  const auto errors = errors_in(by_picture(truth, found).at(1));
  CHECK(errors.false_negatives == 1);
  CHECK(errors.false_positives == 2);
}

TEST_CASE("the picture of a confusion matrix is bluer where there is more") {
  const Image few = confusion_picture({{"a", "b"}, {90, 10, 0, 7}});
  REQUIRE(few.channels == 3);
  CHECK(few.height == few.width);
  const int cell = few.height / 3;
  const auto red = [](const Image& image, int row, int column) {
    return image.view().row(row)[std::ptrdiff_t{3} * column];
  };
  CHECK(red(few, cell + 1, cell + 1) < red(few, cell + 1, 2 * cell + 1));
  CHECK(red(few, 2 * cell + 1, cell + 1) == 255);
  std::set<std::uint8_t> reds;
  for (int column = 0; column < few.width; ++column)
    for (int row = 0; row < cell; ++row) reds.insert(red(few, row, column));
  CHECK(reds == std::set<std::uint8_t>{0, 255});  // the numbers of the predictions
  ClassTable many{Texts(200), std::vector<std::uint64_t>(40000)};
  CHECK(confusion_picture(many).height == 1000);
}

TEST_CASE("a summary has a line for each part, also for one that failed") {
  const TempFolder folder;
  const TestPart good{"s/iter-00000005", 5, "", "size=8,amp=off", folder.path() / "iter-00000005+size=8,amp=off"},
      bad{"s/iter-00000005", 5, "night", "", folder.path() / "iter-00000005.night"};
  const std::vector<PartOutcome> outcomes{{good, 1234, {{"loss", 0.25}, {"accuracy.cat", std::nan("")}}},
                                          {bad, 0, {}, "night is \"gone\"", 3}};
  write_summary(folder.path() / "test", outcomes);
  CHECK(testing::read_text(folder.path() / "test/summary.csv") ==
        "snapshot,iter,set,setting,samples,loss,accuracy.cat,error\n"
        "iter-00000005,5,val,\"size=8,amp=off\",1234,0.25,,\n"
        "iter-00000005,5,night,,0,,,\"night is \"\"gone\"\"\"\n");
  const auto table = summary_table(outcomes);
  REQUIRE(table.size() == 3);
  CHECK(table[0] == "snapshot       set    setting         samples    loss");
  CHECK(table[1] == "iter-00000005  val    size=8,amp=off    1,234  0.2500");
  CHECK(table[2] == "iter-00000005  night                  night is \"gone\"");
}

}  // namespace flowtrain::evaluation_test
