// Batches of pictures whose size is drawn, or grows over the run.

#include <doctest/doctest.h>

#include <array>
#include <set>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/graph/hyper_parameters.h"
#include "pipeline/engine/loader/data_loader.h"
#include "pipeline/engine/session/assembly.h"
#include "sampling/core/text.h"
#include "tests/pipeline/engine/plans/each_slab.h"
#include "tests/support/failure_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::sized_batches_test {
namespace {

using Sizes = std::vector<std::int64_t>;

Config config_of(const std::string& sampler, const std::string& more = {}, int batch = 6) {
  const TempFolder folder;
  return load_config(folder.write(
      "c.toml", concat("[data]\ndataset = \"shapes\"\nsamples = 100\nsize = 24\n[data.val]\nsamples = 10\n[run]\n",
                       "seed = 3\n", more.empty() ? "max_iter = 30\n" : "", more, "\n[sampler]\n", sampler,
                       "\n[loader]\nbatch = ", batch, "\n")));
}

const std::string sizes = "sizes = [12, 16, 24]";

Config grown(const std::string& run, const std::string& loader = {}) {
  const TempFolder folder;
  return load_config(folder.write(
      "c.toml", concat("[data]\ndataset = \"shapes\"\nsamples = 100\nsize = 24\n[run]\nseed = 3\n", run,
                       "\n[sampler]\n", sizes, "\n[loader]\nbatch = 6\nresizing = \"progressive\"\n", loader, "\n")));
}

/// A batch as all processes deliver it together.
struct Delivered {
  std::int64_t size = 0;
  std::vector<std::string> rows = {};
  bool operator==(const Delivered&) const = default;
};
using Line = std::vector<Delivered>;

Line deliver(const Config& config, std::uint64_t first, std::uint64_t last, unsigned workers = 2,
             std::uint64_t world = 1) {
  Line all((last - first + 1) * static_cast<std::uint64_t>(*config.train().accum));
  testing::for_each_slab(config, first, last, workers, world, [&](std::size_t batch, const Slab& slab) {
    Delivered& to = all.at(batch);
    to.size = slab.field(0).shape[0];
    CHECK(slab.field(0).shape == Sizes{to.size, to.size, 3});
    CHECK(slab.bytes() <= slab.layout().bytes());
    for (auto& row : slab.rows()) {
      std::string& text = to.rows.emplace_back();
      for (const std::size_t field : {0, 1}) {
        const auto bytes = slab.bytes_of(row, field);
        text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }
    }
  });
  return all;
}

Sizes sizes_of(const Line& line) {
  Sizes all;
  for (auto& batch : line) all.push_back(batch.size);
  return all;
}

}  // namespace

TEST_CASE("pictures of several sizes are the same at any number of workers and processes, and from any batch on") {
  const Scheduler scheduler(8);
  for (const Config& config : {config_of(sizes), grown("max_iter = 30")}) {
    const Line expected = deliver(config, 1, 30);
    const Sizes drawn = sizes_of(expected);
    CHECK(std::set(drawn.begin(), drawn.end()).size() == 3);
    for (const unsigned workers : {1u, 4u}) CHECK((deliver(config, 1, 30, workers) == expected));
    for (const std::uint64_t world : {2, 3}) CHECK((deliver(config, 1, 30, 2, world) == expected));
    for (const std::uint64_t first : {2, 15, 30})
      CHECK((deliver(config, first, 30) ==
             Line(expected.begin() + static_cast<std::ptrdiff_t>(first) - 1, expected.end())));
  }
}

TEST_CASE("a batch of some size has the bytes that a loader of that size alone gives") {
  const Scheduler scheduler(4);
  const std::string changes = "\naugment = \"trivialaugment\"\nrotate = 20\n";
  const Line drawn = deliver(config_of(sizes + changes), 1, 20);
  for (const std::int64_t size : {12, 16, 24}) {
    const Line fixed = deliver(config_of(concat("size = ", size, changes)), 1, 20);
    for (std::size_t i = 0; i < drawn.size(); ++i)
      if (drawn[i].size == size) CHECK((drawn[i] == fixed[i]));
  }
}

TEST_CASE("sizes grow in equal stages of the run, or where they are said to, and micro-batches have one size") {
  const Scheduler scheduler(4);
  CHECK(sizes_of(deliver(grown("max_iter = 7"), 1, 8)) == Sizes{12, 12, 12, 16, 16, 24, 24, 24});
  CHECK(sizes_of(deliver(grown("max_iter = 3", "[train]\naccum = 2"), 1, 3)) == Sizes{12, 12, 16, 16, 24, 24});
  CHECK(sizes_of(deliver(grown("", "resize_at = [1, 4]"), 1, 6)) == Sizes{12, 16, 16, 16, 24, 24});
  const Sizes epochs = sizes_of(deliver(grown("max_epochs = 3"), 1, 51));  // of 17 batches
  for (std::size_t i = 0; i < 51; ++i) CHECK(epochs[i] == (i < 17 ? 12 : i < 34 ? 16 : 24));
  const Line twice = deliver(config_of(sizes, "max_iter = 9\n[train]\naccum = 2", 3), 1, 9);
  const Line whole = deliver(config_of(sizes), 1, 9);
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const std::size_t micro : {0, 1}) CHECK(twice[2 * i + micro].size == whole[i].size);
}

TEST_CASE("validation has one size: the largest, or val_size") {
  const auto shape = [](const std::string& more) {
    return open_validation_data(config_of(sizes + more), {}, "cpu", {}, true, false).sampler->fields()[0];
  };
  CHECK(shape("").shape == Sizes{24, 24, 3});
  CHECK(shape("").free_axes == 0);
  CHECK(shape("\nval_size = [20, 28]").shape == Sizes{20, 28, 3});
}

TEST_CASE("a loader of one's own hands out each size as a loader of that size alone does, from any place") {
  const auto batches = [](const Config& config, bool floats, StreamPosition from) {
    DataLoader loader(config, {.floats = floats});
    loader.seek(from);
    std::vector<std::pair<Sizes, std::string>> all;
    loader.begin_epoch();
    while (const auto batch = loader.next()) {
      const Field field = batch->stored_field(0);
      all.emplace_back(field.shape,
                       std::string(reinterpret_cast<const char*>(batch->field(0)), batch->rows * field.row_bytes()));
    }
    return all;
  };
  for (const bool floats : {true, false}) {
    const auto whole = batches(config_of(sizes), floats, {0, 0}), rest = batches(config_of(sizes), floats, {0, 48});
    REQUIRE(whole.size() == 16);
    CHECK((rest == decltype(rest)(whole.begin() + 8, whole.end())));
    for (const std::int64_t size : {12, 16, 24}) {
      const auto fixed = batches(config_of(concat("size = ", size)), floats, {0, 0});
      for (std::size_t i = 0; i < whole.size(); ++i)
        if (whole[i].first[1] == size) CHECK((whole[i] == fixed[i]));
    }
  }
  DataLoader loader(grown("max_epochs = 3"), {});
  CHECK(loader.fields()[0].shape == Sizes{3, 24, 24});
  CHECK(loader.basis().at("run.max_epochs") == "3");
  CHECK_FALSE(DataLoader(grown("max_epochs = 3", "resize_at = [5, 9]"), {}).basis().contains("run.max_epochs"));
  loader.seek({1, 0});
  loader.begin_epoch();
  CHECK(loader.next()->stored_field(0).shape == Sizes{3, 16, 16});
}

TEST_CASE("sizes that grow with the run depend on its end, and drawn ones do not") {
  const auto ends = changed_ends(grown("max_iter = 30"), grown("max_iter = 40"));
  REQUIRE(ends.size() == 1);
  CHECK(ends[0].was == "30, the run's");
  CHECK(ends[0].is == "40, the run's");
  CHECK(
      changed_ends(grown("max_iter = 30", "resize_at = [5, 9]"), grown("max_iter = 40", "resize_at = [5, 9]")).empty());
  CHECK(changed_ends(config_of(sizes, "max_iter = 30"), config_of(sizes, "max_iter = 40")).empty());
}

TEST_CASE("sizes that do not fit together are refused at their key") {
  const auto refused = [](const Config& config, const std::string& text) {
    check_failure(failure_of([&] { open_training_data(config, "cpu"); }), ExitCode::usage, text);
  };
  refused(config_of("sizes = [16, 12]"), "sampler.sizes: expected growing numbers, got [16, 12]");
  refused(config_of("size = 16\n" + sizes), "sampler.sizes: size is given, too");
  refused(config_of("val_size = 16"), "sampler.val_size: is the size beside sizes, which are not given");
  refused(grown(""), "loader.resizing: divides the run by the number of sizes, but its length is not given");
  refused(grown("", "resize_at = [5]"), "loader.resize_at: expected 2 growing numbers for 3 sizes, got [5]");
  refused(
      grown("max_iter = 9").with("sampler", "sizes", Value(Sizes())).with("sampler", "size", Value(std::int64_t{16})),
      "loader.resizing: no field has several sizes");
  refused(config_of(sizes).with("loader", "budget", Value(std::int64_t{100})), "no field has a free axis");
}

TEST_CASE("a plan of lengths and sizes takes each axis from its own") {
  ShapePlan plan{Lengths(3, 3)};
  for (std::uint32_t id = 0; const std::uint32_t length : {4, 9, 2}) plan.lengths.axis(0)[id++] = length;
  plan.sized = {{}, {16, 32}, {16, 32}};
  plan.sizes = std::make_unique<const SizePlan>(SizeOptions{.sizes = 2});
  Sizes extents;
  plan.measure(std::array<std::uint64_t, 2>{0, 2}, 1, extents);
  CHECK(extents == Sizes{4, 32, 32});
  CHECK(plan.shapes(5).front().extents == Sizes{9, 32, 32});
}

}  // namespace flowtrain::sized_batches_test
