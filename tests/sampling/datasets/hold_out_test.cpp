#include "sampling/sources/hold_out.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "sampling/core/error.h"
#include "tests/support/failure_helper.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/program.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::hold_out_test {
namespace {

/// Samples with names of their own, or in groups that share one.
class NamedSamples : public NamedDataset {
 public:
  struct Sample {
    std::string name;
    std::int64_t label;
    auto operator<=>(const Sample&) const = default;
  };
  explicit NamedSamples(std::vector<Sample> samples) : samples_(std::move(samples)) { std::ranges::sort(samples_); }

  std::uint64_t size() const override { return samples_.size(); }
  Record read(std::uint64_t id, ReadBuffer&) const override { return {.id = id, .label = label(id)}; }
  std::int64_t label(std::uint64_t id) const override { return samples_[id].label; }
  std::vector<std::string> classes() const override { return {"a", "b", "c"}; }
  std::string describe(std::uint64_t id) const override { return "in " + name(id); }
  std::string name(std::uint64_t id) const override { return samples_[id].name; }

 private:
  std::vector<Sample> samples_;
};

/// 100, 33 and 4 samples in three classes, and `more` in the first two.
NamedSamples samples(int more = 0) {
  std::vector<NamedSamples::Sample> all;
  for (int i = 0; i < 100; ++i) all.push_back({"a/" + std::to_string(i) + ".jpg", 0});
  for (int i = 0; i < 33; ++i) all.push_back({"b/" + std::to_string(i) + ".jpg", 1});
  for (int i = 0; i < 4; ++i) all.push_back({"c/" + std::to_string(i) + ".jpg", 2});
  for (int i = 0; i < more; ++i)
    all.push_back({(i % 2 ? "a/new " : "b/new ") + std::to_string(i) + ".jpg", i % 2 ? 0 : 1});
  return NamedSamples(all);
}

std::set<std::string> names_of(const NamedDataset& dataset, const std::vector<std::uint64_t>& ids) {
  std::set<std::string> names;
  for (const auto id : ids) names.insert(dataset.name(id));
  return names;
}

void check_stratified(const Dataset& dataset, const HoldOut& split, double share) {
  std::map<std::int64_t, std::pair<int, int>> counts;  // all, held out
  for (std::uint64_t id = 0; id < dataset.size(); ++id) ++counts[dataset.label(id)].first;
  for (const auto id : split.validation) ++counts[dataset.label(id)].second;
  for (auto& [label, count] : counts) {
    CAPTURE(label);
    CHECK(std::abs(count.second - share * count.first) <= 0.5);
  }
  CHECK(split.training.size() + split.validation.size() == dataset.size());
  std::vector<std::uint64_t> both;
  std::ranges::set_intersection(split.training, split.validation, std::back_inserter(both));
  CHECK(both.empty());
}

}  // namespace

TEST_CASE("a share of each class is held out, to within half a sample, by names alone") {
  const auto set = samples();
  for (const double share : {0.05, 0.1, 0.25, 0.5, 0.9}) {
    const auto split = hold_out(set, share, {});
    check_stratified(set, split, share);
    CHECK(hold_out(set, share, {}).validation == split.validation);
  }
  std::string names;  // which do not change from version to version
  for (auto& name : names_of(set, hold_out(set, 0.04, {}).validation)) names += name + " ";
  CHECK(names == "a/51.jpg a/57.jpg a/72.jpg a/96.jpg b/10.jpg ");
}

TEST_CASE("samples stay where they are when others are added, and each class keeps its share") {
  const TempFolder folder;
  const SplitFile file(folder.path() / "split.tsv");
  CHECK(file.read().empty());
  const auto few = samples(), many = samples(50);
  const auto before = hold_out(few, 0.1, file.read());
  REQUIRE(file.keep(few, before, {}));
  const auto after = hold_out(many, 0.1, file.read());
  check_stratified(many, after, 0.1);
  const auto old_validation = names_of(few, before.validation), old_training = names_of(few, before.training);
  const auto validation = names_of(many, after.validation), training = names_of(many, after.training);
  CHECK(std::ranges::includes(validation, old_validation));
  CHECK(std::ranges::includes(training, old_training));
  CHECK(old_validation.size() == 13);
  CHECK(validation.size() == 19);

  // A process that reads the file later sees the same, whether another one has written it meanwhile or not.
  REQUIRE(file.keep(many, after, file.read()));
  CHECK(hold_out(many, 0.1, file.read()).validation == after.validation);
  CHECK(hold_out(few, 0.1, file.read()).validation == before.validation);  // and what was removed may come back
  const std::string text = read_text(file.path());
  CHECK(text.starts_with("split\tname\ntraining\ta/0.jpg\n"));
  CHECK(text.ends_with("samples\t187\n"));
}

TEST_CASE("many small classes give a share of the whole, chosen by names alone, and each keeps a sample to train on") {
  for (const int each : {1, 2, 4, 7, 14}) {
    CAPTURE(each);
    std::vector<NamedSamples::Sample> all;
    for (int label = 0; label < 1000; ++label)
      for (int i = 0; i < each; ++i)
        all.push_back({"c" + std::to_string(label) + "/" + std::to_string(i) + ".jpg", label});
    const NamedSamples set(all);
    const auto split = hold_out(set, 0.1, {});
    const double wanted = each == 1 ? 0 : 100.0 * each;
    CHECK(std::abs(static_cast<double>(split.validation.size()) - wanted) <= 1);
    std::map<std::int64_t, int> training;
    for (const auto id : split.training) ++training[set.label(id)];
    CHECK(training.size() == 1000);

    // Labels play no part in the choice, and a kept list holds.
    for (auto& sample : all) sample.label = 999 - sample.label;
    const NamedSamples turned(all);
    CHECK(names_of(turned, hold_out(turned, 0.1, {}).validation) == names_of(set, split.validation));
    KnownSplit known;
    for (const auto& name : names_of(set, split.validation)) known[name] = true;
    for (const auto& name : names_of(set, split.training)) known[name] = false;
    CHECK(hold_out(set, 0.3, known).validation == split.validation);
  }
}

TEST_CASE("one of few samples is held out, unless each is its class's last") {
  const auto held = [](const std::vector<NamedSamples::Sample>& all, double share) {
    return hold_out(NamedSamples(all), share, {}).validation.size();
  };
  const std::vector<NamedSamples::Sample> two{{"a/1", 0}, {"a/2", 0}, {"b/1", 1}, {"b/2", 1}};
  CHECK(held(two, 0.1) == 1);
  CHECK(held(two, 0.01) == 1);
  CHECK(held({{"a/1", 0}, {"b/1", 1}}, 0.1) == 0);
}

TEST_CASE("a list of a split that was edited on Windows, or has names that are not UTF-8, is read") {
  const TempFolder folder;
  const SplitFile file(folder.path() / "split.tsv");
  folder.write("split.tsv", "\xef\xbb\xbfsplit\tname\r\ntraining\ta\r\nvalidation\tcaf\xe9/1.jpg\r\nsamples\t2\r\n");
  CHECK(file.read() == KnownSplit{{"a", false}, {"caf\\xE9/1.jpg", true}});
}

TEST_CASE("samples of one name stay together, and those without names go by their numbers") {
  std::vector<NamedSamples::Sample> crops;
  for (int picture = 0; picture < 40; ++picture)
    for (int box = 0; box < 3; ++box) crops.push_back({"picture " + std::to_string(picture), 0});
  const NamedSamples set(crops);
  const auto split = hold_out(set, 0.2, {});
  CHECK(split.validation.size() == 24);
  for (const auto& name : names_of(set, split.validation)) CHECK_FALSE(names_of(set, split.training).contains(name));

  const MemoryDataset nameless(std::vector<MemoryDataset::Item>(50));
  CHECK(hold_out(nameless, 0.1, {}).validation.size() == 5);
}

TEST_CASE("a split's file that is damaged is named with the way out") {
  const TempFolder folder;
  const SplitFile file(folder.path() / "split.tsv");
  const auto set = samples();
  REQUIRE(file.keep(set, hold_out(set, 0.1, {}), {}));
  const std::string whole = read_text(file.path());
  const auto check = [&](const std::string& text, const std::string& message) {
    folder.write("split.tsv", text);
    check_failure(failure_of([&] { file.read(); }), ExitCode::data, "split.tsv: " + message);
  };
  check("", "this is not a list of a split");
  check("name,split\n", "this is not a list of a split");
  check(whole.substr(0, whole.size() / 2), "");
  check(whole.substr(0, whole.size() - 12), "its end is missing");
  check("split\tname\ntraining\ta\nsamples\t2\n", "it has 1 samples, but its last line says otherwise");
  check("split\tname\ntraining\ta\ntest\tb\nsamples\t2\n", "line 3: expected training or validation, a tab and a name");
  CHECK_FALSE(SplitFile(folder.path() / "none" / "split.tsv").keep(set, hold_out(set, 0.1, {}), {}));
}

TEST_CASE("a part of a data set: its records under new numbers") {
  const SubsetDataset some(std::make_unique<NamedSamples>(samples()), {0, 5, 120});
  REQUIRE(some.size() == 3);
  ReadBuffer buffer;
  CHECK(some.read(2, buffer).id == 2);
  CHECK(some.read(2, buffer).label == 1);
  CHECK(some.label(2) == 1);
  CHECK(some.describe(1) == "in " + samples().name(5));
  CHECK(some.classes().size() == 3);
  const SubsetDataset others(std::make_unique<NamedSamples>(samples()), {0, 5, 121});
  CHECK(some.fingerprint() != others.fingerprint());
}

}  // namespace flowtrain::hold_out_test
