// A validation chooses samples to show, and writes them to a folder.

#include <doctest/doctest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "pipeline/base/telemetry/log.h"
#include "pipeline/engine/pictures/picture_files.h"
#include "pipeline/engine/pictures/picture_folder.h"
#include "pipeline/engine/pictures/picture_log.h"
#include "pipeline/engine/validation/validation.h"
#include "sampling/core/error.h"
#include "tests/pipeline/engine/thread_group.h"
#include "tests/support/fakes.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::pictures_test {
namespace {

namespace fs = std::filesystem;
using testing::FakeDataset;
using testing::FakeSampler;

/// As stored.
class InOrder : public Order {
 public:
  explicit InOrder(std::uint64_t count) : count_(count) {}
  std::uint64_t size() const override { return count_; }
  std::uint64_t at(std::uint64_t, std::uint64_t index) const override { return index; }

 private:
  std::uint64_t count_;
};

/// Says of record i that its loss is 37 i modulo 100, and that it is class i modulo 3.
struct Teller : Validator, RowValidator {
  void begin_validation() override {}
  void validate(Slab&) override { FAIL("rows are asked for"); }
  RowResults validate_rows(Slab& slab, std::span<const std::size_t>) override {
    RowResults results{.kind = "classify"};
    if (slab.share() == 0) return results;
    for (auto& row : slab.rows())
      results.rows.push_back({static_cast<double>(37 * row.id % 100), static_cast<std::int64_t>(row.id % 3), 0.5});
    return results;
  }
  Scalars end_validation() override { return {{"loss", 1}}; }
};

/// One validation of 100 records, of which `bad` cannot be read, by all ranks.
ShownSamples validated(int ranks, const std::set<std::uint64_t>& chosen, std::uint64_t bad = 1000) {
  const FakeDataset dataset(100, 4, true);
  const InOrder order(100);
  FakeSampler sampler(4);
  sampler.before_sample = [bad](std::uint64_t id) {
    if (id == bad) throw SampleError("torn");
  };
  const SampleChoice choice{dataset, 4, [&](std::uint64_t record) { return chosen.contains(record); }};
  const Scheduler scheduler(static_cast<unsigned>(ranks));
  ShownSamples shown;
  testing::as_ranks(ranks, [&](Group& group) {
    const auto device = make_cpu_device();
    LoaderParts parts{"val", dataset, order, sampler, *device, Batches(100, 8, LastBatch::pad)};
    parts.batch = 8;
    parts.slice = {static_cast<std::uint64_t>(group.rank()), static_cast<std::uint64_t>(group.size())};
    Loader loader(std::move(parts));
    loader.start();
    BadSamples bad_samples(dataset, {"val", 10}, [](auto&) {});
    Teller teller;
    const ValidationSet set{.loader = loader, .batches = 13, .bad_samples = bad_samples, .samples = &choice};
    auto found = ValidationPass(
                     set, teller, [] { return true; }, group)
                     .run(5);
    CHECK(found.samples.size() == (group.leads() ? 1 : 0));
    if (group.leads()) shown = std::move(found.samples.at(0));
  });
  return shown;
}

std::vector<std::uint64_t> ids_of(const std::vector<SampleResult>& samples) {
  std::vector<std::uint64_t> ids;
  for (auto& sample : samples) ids.push_back(sample.id);
  return ids;
}

using Ids = std::vector<std::uint64_t>;

void make(const fs::path& folder, const std::vector<int>& iterations) {
  for (const int iteration : iterations) write_pictures(folder, static_cast<std::uint64_t>(iteration), {});
}

std::set<std::string> names_of(const fs::path& folder) {
  std::set<std::string> names;
  for (auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

ValidationEvent event_of(std::uint64_t iteration) {
  ValidationEvent event{.iteration = iteration};
  ShownSamples shown{.kind = "classify", .classes = {"cat"}};
  SampleResult sample{.id = 7, .label = 0, .result = {0.25, 1, 0.75}};
  sample.picture.reshape(2, 2, 1);
  shown.samples.push_back(sample);
  event.samples = std::make_shared<const std::vector<ShownSamples>>(1, shown);
  return event;
}

}  // namespace

TEST_CASE("samples are chosen one from each part of the set, by the seed") {
  const auto chosen_of = [](std::uint64_t size, std::uint64_t count, std::uint64_t seed) {
    std::set<std::uint64_t> chosen;
    const auto chooses = spread_records(size, count, seed);
    for (std::uint64_t record = 0; record < size + 10; ++record)
      if (chooses(record)) chosen.insert(record);
    return chosen;
  };
  const auto chosen = chosen_of(1000, 16, 1);
  CHECK(chosen.size() == 16);
  CHECK(chosen == chosen_of(1000, 16, 1));
  CHECK(chosen != chosen_of(1000, 16, 2));
  std::uint64_t part = 0;
  for (const auto id : chosen) {
    CHECK(id >= part * 1000 / 16);
    CHECK(id < (part + 1) * 1000 / 16);
    ++part;
  }
  for (const std::uint64_t size : {1, 5, 7, 999, 1000, 1013})
    for (const std::uint64_t count : {1, 2, 3, 7, 16, 333, 1000, 5000})
      CHECK(chosen_of(size, count, 3).size() == std::min(size, count));
  CHECK(chosen_of(0, 16, 1).empty());
}

TEST_CASE("a validation shows what was chosen and the greatest losses, and any number of ranks shows the same") {
  const std::set<std::uint64_t> chosen{3, 50, 99};
  const auto alone = validated(1, chosen);
  CHECK(alone.kind == "classify");
  CHECK(alone.classes.size() == 10);
  CHECK(ids_of(alone.samples) == Ids{3, 50, 99});
  CHECK(alone.samples[1].label == 0);
  CHECK(alone.samples[1].result.loss == 50);
  CHECK(alone.samples[1].result.prediction == 2);
  CHECK(alone.samples[1].picture.pixels == std::vector<std::uint8_t>{50, 51, 52, 53});
  CHECK(ids_of(alone.worst) == Ids{27, 54, 81, 8});  // 99, 98, 97, 96
  for (const int ranks : {2, 3}) {
    const auto shown = validated(ranks, chosen);
    CHECK(picture_files(shown, 5) == picture_files(alone, 5));
  }
}

TEST_CASE("a record that stands for a bad one is not shown twice") {
  const auto shown = validated(1, {27, 50}, 27);
  CHECK(ids_of(shown.samples) == Ids{50});
  CHECK(ids_of(shown.worst) == Ids{54, 81, 8, 35});
}

TEST_CASE("pictures stay by the rules of snapshots") {
  const TempFolder place;
  const auto folder = place.path() / "pictures";
  make(folder, {10, 20, 30, 40, 50, 60});
  const std::uint64_t best[] = {20};
  prune_pictures(folder, 2, 40, best);
  CHECK(names_of(folder) == std::set<std::string>{"iter-00000020", "iter-00000040", "iter-00000050", "iter-00000060"});
  place.write("pictures/iter-00000070.tmp-1-1/00.png", "half");
  remove_pictures_after(folder, 40);
  CHECK(names_of(folder) == std::set<std::string>{"iter-00000020", "iter-00000040"});
  remove_pictures_after(place.path() / "nothing", 40);
}

TEST_CASE("the log of pictures writes them, and what waits for it goes on") {
  const TempFolder place;
  const auto folder = place.path() / "pictures";
  std::function<void()> wait;
  {
    PictureLog log({folder, 2, 0});
    for (const std::uint64_t iteration : {5, 10, 15}) log.validation(event_of(iteration));
    wait = log.wait_for_written();
    wait();
    CHECK(names_of(folder) == std::set<std::string>{"iter-00000010", "iter-00000015"});
  }
  wait();  // the logger is gone
  std::ifstream file(folder / "iter-00000015/pictures.json");
  const auto shown = nlohmann::json::parse(file);
  const auto& sample = shown.at("samples").at(0);
  CHECK(sample.at("label") == "cat");
  CHECK(sample.at("prediction") == 1);  // a class without a name
  CHECK(sample.at("loss") == 0.25);
  CHECK(fs::exists(folder / "iter-00000015/00.png"));
}

TEST_CASE("pictures that cannot be written are one warning") {
  const TempFolder place;
  set_log_file(place.path() / "log");
  PictureLog log({place.write("file", "no folder") / "pictures", 2, 0});
  for (const std::uint64_t iteration : {5, 10}) log.validation(event_of(iteration));
  log.finish();
  std::ifstream file(place.path() / "log");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto first = text.find("cannot write the pictures of the validation of iteration 5: ");
  CHECK(first != text.npos);
  CHECK(text.find("cannot write the pictures", first + 1) == text.npos);
}

}  // namespace flowtrain::pictures_test
