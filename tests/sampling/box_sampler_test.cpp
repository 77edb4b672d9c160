// The sampler `boxes`.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>

#include "sampling/core/registry.h"
#include "sampling/sampler.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::box_sampler_test {
namespace {

using Values = std::vector<std::pair<std::string, Value>>;

struct Boxed : MemoryDataset {
  using MemoryDataset::MemoryDataset;
  bool has_boxes() const override { return true; }
};

const Boxed boxed({pixels_item(8, 8, 3)}, 4);

std::unique_ptr<Sampler> make(const Values& values, bool training = true, const Dataset& dataset = boxed) {
  const auto& entry = samplers().at("boxes");
  return entry.make(settings_for(entry.keys, values, "sampler"), {dataset, training});
}

struct Sampled {
  std::vector<std::uint8_t> image;
  std::vector<float> boxes;
  std::vector<std::int64_t> labels;
  std::int64_t count;
};

/// A row of a picture (height, width, 3) with a white left half, in memory that was not empty.
Sampled sampled(const Sampler& sampler, int height, int width, const std::vector<Box>& boxes) {
  std::vector<std::byte> pixels(static_cast<std::size_t>(height * width) * 3, std::byte{0});
  for (int y = 0; y < height; ++y)
    std::fill_n(pixels.begin() + static_cast<std::ptrdiff_t>(y) * width * 3, width / 2 * 3, std::byte{255});
  const auto fields = sampler.fields();
  Sampled row{std::vector<std::uint8_t>(fields[0].row_bytes(), 7), std::vector<float>(fields[1].row_bytes() / 4, 7),
              std::vector<std::int64_t>(fields[2].row_bytes() / 8, 7), 7};
  std::byte* const places[] = {
      reinterpret_cast<std::byte*>(row.image.data()), reinterpret_cast<std::byte*>(row.boxes.data()),
      reinterpret_cast<std::byte*>(row.labels.data()), reinterpret_cast<std::byte*>(&row.count)};
  Stream random(1, Purpose::sample, 0);
  sampler.sample({.encoding = Encoding::pixels,
                  .bytes = pixels,
                  .height = static_cast<std::uint32_t>(height),
                  .width = static_cast<std::uint32_t>(width),
                  .channels = 3,
                  .boxes = boxes},
                 random, places);
  return row;
}

using Floats = std::vector<float>;
using Integers = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a picture is stretched to its size with its boxes, and the rest of the row is zero") {
  const auto sampler = make({{"size", Integers{16, 32}}, {"objects", std::int64_t{3}}}, false);
  const auto fields = sampler->fields();
  CHECK(fields[0].shape == Integers{16, 32, 3});
  CHECK(fields[0].mean.size() == 3);
  const Sampled row = sampled(*sampler, 8, 8, {{1, 2, 3, 4, 3}, {0, 0, 8, 8, 1}});
  CHECK(row.boxes == Floats{4, 4, 12, 8, 0, 0, 32, 16, 0, 0, 0, 0});
  CHECK(row.labels == Integers{3, 1, 0});
  CHECK(row.count == 2);
  CHECK(row.image.front() == 255);
  CHECK(row.image.back() == 0);
}

TEST_CASE("a mirrored picture has mirrored boxes; validation mirrors nothing") {
  const Values always{{"size", std::int64_t{8}}, {"objects", std::int64_t{1}}, {"flip", 1.0}};
  const Sampled mirrored = sampled(*make(always), 8, 8, {{1, 2, 3, 4, 0}});
  CHECK(mirrored.boxes == Floats{5, 2, 7, 4});
  CHECK(mirrored.image.front() == 0);
  CHECK(sampled(*make(always, false), 8, 8, {{1, 2, 3, 4, 0}}).boxes == Floats{1, 2, 3, 4});
}

TEST_CASE("of too many boxes the largest are kept, in their order; crowds and what has no area are left out") {
  const auto sampler = make({{"size", std::int64_t{8}}, {"objects", std::int64_t{2}}}, false);
  const Sampled row = sampled(*sampler, 8, 8, {{0, 0, 4, 4, 0}, {0, 0, 1, 1, 1}, {0, 0, 5, 5, 2}});
  CHECK(row.labels == Integers{0, 2});
  CHECK(row.count == 2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<Box> others{{0, 0, 4, 4, 0, /*ignore=*/true}, {9, 0, 12, 4, 1}, {5, 1, 3, 4, 1}, {nan, 0, 4, 4, 1}};
  CHECK(sampled(*sampler, 8, 8, others).count == 0);
  CHECK(sampled(*sampler, 8, 8, {{-3, -1, 4, 99, 3}}).boxes == Floats{0, 0, 4, 8, 0, 0, 0, 0});
}

TEST_CASE("records and data that have no boxes to learn from") {
  const auto sampler = make({{"size", std::int64_t{8}}});
  CHECK_THROWS_WITH_AS(sampled(*sampler, 8, 8, {{0, 0, 4, 4, 4}}), "label 4 is out of range 0..3", SampleError);
  const MemoryDataset without({pixels_item(8, 8, 3)}, 4);
  CHECK_THROWS_WITH_AS(make({}, true, without),
                       doctest::Contains("'boxes' learns from boxes, but the training data have none"), UserError);
  CHECK_THROWS_WITH_AS(make({{"mean", std::vector<double>{0.5}}}), doctest::Contains("must have three values"),
                       UserError);
}

}  // namespace flowtrain::box_sampler_test
