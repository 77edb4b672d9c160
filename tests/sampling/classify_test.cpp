// The samplers classify and copy.
#include <doctest/doctest.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <set>
#include <string>

#include "sampling/codecs/exif.h"
#include "sampling/core/registry.h"
#include "sampling/datasets/shapes.h"
#include "sampling/plugin_host/plugin.h"
#include "sampling/sampler.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/paths.h"
#include "tests/support/pictures.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::test {
extern thread_local long allocations;
thread_local long allocations = 0;  // by operator new, of this thread; other tests of this program read it
}  // namespace flowtrain::test
using flowtrain::test::allocations;

// noinline keeps GCC from pairing an inlined free with the new that it sees.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size ? size : 1)) return memory;
  throw std::bad_alloc();
}
// std::stable_sort uses this one; under a sanitizer it would otherwise not come from malloc.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size ? size : 1);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace flowtrain::classify_test {
namespace {

using Values = std::vector<std::pair<std::string, Value>>;

Value whole(std::int64_t value) { return value; }
Value text(const char* value) { return std::string(value); }

std::unique_ptr<Sampler> make_sampler(const std::string& name, const Dataset& dataset, bool training = true,
                                      const Values& values = {}) {
  const auto& entry = samplers().at(name);
  return entry.make(settings_for(with_name(entry), values, "sampler"), {dataset, training});
}

struct Sample {
  std::vector<std::uint8_t> image;
  std::int64_t label = -1;
  bool operator==(const Sample&) const = default;
};

/// One sample; `random` at `position`.
Sample draw(const Sampler& sampler, const Dataset& dataset, std::uint64_t id, std::uint64_t position = 0) {
  Sample out;
  out.image.assign(sampler.fields()[0].row_bytes(), 0xee);
  std::byte* row[] = {reinterpret_cast<std::byte*>(out.image.data()), reinterpret_cast<std::byte*>(&out.label)};
  ReadBuffer buffer;
  Stream random(1, Purpose::sample, position);
  sampler.sample(dataset.read(id, buffer), random, row);
  return out;
}

template <class Call>
std::string usage_error(Call call) {
  try {
    call();
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::usage);
    return error.what();
  }
  return "nothing thrown";
}

std::string sample_error(const Sampler& sampler, const Dataset& dataset) {
  try {
    draw(sampler, dataset, 0);
  } catch (const SampleError& error) {
    return error.what();
  }
  return "nothing thrown";
}

MemoryDataset::Item jpeg_item(int height, int width, std::int64_t label = 1) {
  return {Encoding::image, encode_jpeg(gradient_picture(height, width, 3)), 0, 0, 0, label};
}

}  // namespace

TEST_CASE("classify: stored size, no crop") {
  const MemoryDataset dataset({pixels_item(8, 8, 1, 3), pixels_item(8, 8, 1, 4, 3)});
  const auto sampler = make_sampler("classify", dataset, true, {{"flip", 0.0}});
  const auto fields = sampler->fields();
  REQUIRE(fields.size() == 2);
  CHECK(fields[0].name == "image");
  CHECK(fields[0].dtype == DType::u8);
  CHECK(fields[0].shape == std::vector<std::int64_t>{8, 8, 1});
  CHECK(fields[0].mean == std::vector<double>{0.5});
  CHECK(fields[0].stddev == std::vector<double>{0.5});
  CHECK(fields[1].name == "label");
  CHECK(fields[1].row_bytes() == 8);

  const auto sample = draw(*sampler, dataset, 1);
  CHECK(sample.label == 4);
  for (std::size_t i = 0; i < 64; ++i) CHECK(sample.image[i] == static_cast<std::uint8_t>(3 * i));
}

TEST_CASE("classify: flips half of the samples, and only in training") {
  const MemoryDataset dataset({pixels_item(4, 4, 3)});
  const auto training = make_sampler("classify", dataset), validation = make_sampler("classify", dataset, false);
  std::set<std::string> seen;
  for (std::uint64_t position = 0; position < 20; ++position) {
    const auto image = draw(*training, dataset, 0, position).image;
    seen.emplace(image.begin(), image.end());
  }
  CHECK(seen.size() == 2);
  CHECK(draw(*validation, dataset, 0, 1) == draw(*validation, dataset, 0, 2));
  CHECK(draw(*training, dataset, 0, 9) == draw(*training, dataset, 0, 9));
}

TEST_CASE("classify: padded crop") {
  const MemoryDataset dataset({pixels_item(8, 8, 1, 3, 0)});  // black; nothing to see of the padding
  auto white = pixels_item(8, 8, 1);
  std::fill(white.bytes.begin(), white.bytes.end(), std::byte{255});
  const MemoryDataset whites({white});
  const auto sampler = make_sampler("classify", whites, true, {{"crop", text("pad")}, {"padding", whole(2)}});
  std::set<std::string> seen;
  for (std::uint64_t position = 0; position < 200; ++position) {
    const auto image = draw(*sampler, whites, 0, position).image;
    CHECK(std::count(image.begin(), image.end(), 255) >= 36);
    seen.emplace(image.begin(), image.end());
  }
  CHECK(seen.size() == 25);  // 5 x 5 places
  const auto small =
      make_sampler("classify", dataset, true, {{"crop", text("pad")}, {"padding", whole(2)}, {"size", whole(16)}});
  CHECK(sample_error(*small, dataset) == "an image of 8x8 padded by 2 is smaller than 16x16");
}

TEST_CASE("classify: image files") {
  const MemoryDataset dataset({jpeg_item(90, 60), jpeg_item(40, 120)});
  const auto training = make_sampler("classify", dataset, true, {{"size", whole(32)}});
  CHECK(training->fields()[0].shape == std::vector<std::int64_t>{32, 32, 3});
  CHECK(training->fields()[0].mean == std::vector<double>{0.485, 0.456, 0.406});
  CHECK(draw(*training, dataset, 0, 1) != draw(*training, dataset, 0, 2));
  CHECK(draw(*training, dataset, 1, 1) == draw(*training, dataset, 1, 1));

  // Validation: 90 x 60 becomes 54 x 36, of which the centre is cut. Red grows from left to right, green downwards.
  const auto validation = make_sampler("classify", dataset, false, {{"size", whole(32)}});
  const auto image = draw(*validation, dataset, 0).image;
  const auto value = [&](int y, int x, int c) { return int{image[static_cast<std::size_t>((y * 32 + x) * 3 + c)]}; };
  CHECK(std::abs(value(16, 0, 0) - 255 * 2.5 / 36) < 6);
  CHECK(std::abs(value(16, 31, 0) - 255 * 33.5 / 36) < 6);
  CHECK(std::abs(value(0, 16, 1) - 255 * 11.5 / 54) < 6);
  CHECK(std::abs(value(31, 16, 1) - 255 * 42.5 / 54) < 6);

  const auto jitter = make_sampler("classify", dataset, true,
                                   {{"size", whole(16)}, {"brightness", 0.4}, {"contrast", 0.4}, {"saturation", 0.4}});
  CHECK(draw(*jitter, dataset, 0, 1) != draw(*jitter, dataset, 0, 2));
}

TEST_CASE("classify: the output may have any height and width") {
  using Integers = std::vector<std::int64_t>;
  const MemoryDataset dataset({jpeg_item(90, 60)});
  const auto make = [&](bool training, Values values, Integers size = {32, 48}) {
    values.emplace_back("size", std::move(size));
    return make_sampler("classify", dataset, training, values);
  };
  CHECK(make(true, {})->fields()[0].shape == Integers{32, 48, 3});
  CHECK(draw(*make(true, {}), dataset, 0, 1) != draw(*make(true, {}), dataset, 0, 2));
  // Equal sides are what one number is.
  for (const bool training : {true, false})
    CHECK(draw(*make(training, {}, {32, 32}), dataset, 0) ==
          draw(*make_sampler("classify", dataset, training, {{"size", whole(32)}}), dataset, 0));

  // The first and last columns show the picture's `across`, the first and last rows its `down`, in shares of its sides.
  const auto shows = [&](const Values& values, std::pair<double, double> across, std::pair<double, double> down) {
    const auto image = draw(*make(false, values), dataset, 0).image;
    REQUIRE(image.size() == 32 * 48 * 3);
    const auto value = [&](int y, int x, int c) { return int{image[static_cast<std::size_t>((y * 48 + x) * 3 + c)]}; };
    CHECK(std::abs(value(16, 0, 0) - 255 * across.first) < 12);
    CHECK(std::abs(value(16, 47, 0) - 255 * across.second) < 12);
    CHECK(std::abs(value(0, 24, 1) - 255 * down.first) < 12);
    CHECK(std::abs(value(31, 24, 1) - 255 * down.second) < 12);
  };
  const Value none = text("none");
  shows({{"crop", none}}, {0, 1}, {20. / 72, 52. / 72});                         // 48 wide, so 72 high
  shows({{"crop", none}, {"resize", whole(32)}}, {0, 1}, {20. / 72, 52. / 72});  // 32 would not cover 48
  shows({{"crop", none}, {"resize", whole(60)}}, {6. / 60, 54. / 60}, {29. / 90, 61. / 90});
  shows({{"crop", none}, {"resize", Integers{32, 48}}}, {0, 1}, {0, 1});  // stretched
  shows({}, {3. / 54, 51. / 54}, {24. / 81, 57. / 81});                   // 256 / 224 of the width
}

TEST_CASE("classify: recipes of shapes are drawn") {
  ShapeRecipe recipe{};
  recipe.size = 12;
  recipe.background = {1, 0, 0};
  const auto* bytes = reinterpret_cast<const std::byte*>(&recipe);
  const MemoryDataset dataset({{Encoding::shapes, {bytes, bytes + sizeof recipe}, 0, 0, 0, 5}});
  const auto sampler = make_sampler("classify", dataset);
  CHECK(sampler->fields()[0].shape == std::vector<std::int64_t>{12, 12, 3});
  CHECK(sampler->fields()[0].mean == std::vector<double>{0.5, 0.5, 0.5});
  const auto sample = draw(*sampler, dataset, 0);
  CHECK(sample.label == 5);
  CHECK(sample.image[0] == 255);
  CHECK(sample.image[1] == 0);
  CHECK(make_sampler("copy", dataset)->fields()[0].row_bytes() == sizeof recipe);
}

TEST_CASE("classify: grey to RGB and back") {
  const MemoryDataset grey({pixels_item(6, 6, 1)}), color({pixels_item(6, 6, 3)});
  const auto to_rgb = make_sampler("classify", grey, false, {{"channels", whole(3)}});
  CHECK(to_rgb->fields()[0].mean.size() == 3);
  const auto image = draw(*to_rgb, grey, 0).image;
  CHECK(image[3] == 7);
  CHECK(image[5] == 7);
  const auto to_grey = make_sampler("classify", color, false, {{"channels", whole(1)}});
  CHECK(to_grey->fields()[0].shape.back() == 1);
  CHECK(draw(*to_grey, color, 0).image[0] == 6);  // luma of (0, 7, 14)
}

TEST_CASE("classify: the region is the picture") {
  auto item = pixels_item(10, 10, 1);
  item.region = {2, 3, 6, 7, 0};
  const MemoryDataset dataset({item});
  CHECK(usage_error([&] { make_sampler("classify", dataset); }) ==
        "sampler.size: must be given: the images of this data set have no common size");
  const auto sampler = make_sampler("classify", dataset, false, {{"size", whole(4)}});
  CHECK(draw(*sampler, dataset, 0).image[0] == static_cast<std::uint8_t>(32 * 7));
}

TEST_CASE("classify: wrong settings") {
  const MemoryDataset grey({pixels_item(8, 8, 1)}), wide({pixels_item(8, 9, 1)}), files({jpeg_item(9, 9)}),
      none({pixels_item(8, 8, 1)}, 0), two({pixels_item(8, 8, 2)});
  const auto error = [](const Dataset& dataset, const Values& values) {
    return usage_error([&] { make_sampler("classify", dataset, true, values); });
  };
  CHECK(error(files, {}) == "sampler.size: must be given: the images of this data set have no common size");
  CHECK(make_sampler("classify", wide, true, {})->fields()[0].shape == std::vector<std::int64_t>{8, 9, 1});
  using Integers = std::vector<std::int64_t>;
  for (const Integers& sides : {Integers{}, {8}, {8, 0}, {8, 8, 8}})
    CHECK(error(grey, {{"size", sides}}) == "test.toml:1:1: sampler.size: must be one number or [height, width]");
  CHECK(error(grey, {{"size", Integers{8, 6}}, {"resize", Integers{8, 5}}}) ==
        "test.toml:1:1: sampler.resize: is [8, 5], which is less than size = [8, 6]");
  CHECK(error(grey, {{"mean", std::vector<double>{0.1, 0.2, 0.3}}}) ==
        "test.toml:1:1: sampler.mean: has 3 values, but the images have 1 channel");
  CHECK(error(grey, {{"scale", std::vector<double>{0.9, 0.1}}}) ==
        "test.toml:1:1: sampler.scale: must be [least, most]");
  CHECK(error(grey, {{"ratio", std::vector<double>{1}}}) == "test.toml:1:1: sampler.ratio: must be [least, most]");
  CHECK(error(grey, {{"resize", whole(4)}}) == "test.toml:1:1: sampler.resize: is 4, which is less than size = 8");
  CHECK(error(grey, {{"channels", whole(2)}}) == "test.toml:1:1: sampler.channels: must be 0, 1 or 3");
  CHECK(error(grey, {{"crop", text("middle")}}).find("test.toml:1:1: sampler.crop: ") == 0);
  CHECK(error(none, {}) == "sampler.name: 'classify' needs a data set with classes, but this one has none");
  CHECK(error(two, {}) == "sampler.name: 'classify' needs images of 1 or 3 channels, but this data set has 2");
  CHECK_THROWS_AS(make_sampler("classify", MemoryDataset({})), UserError);
  CHECK(usage_error([] { samplers().at("clasify"); }) == "no sampler is called 'clasify'");
}

TEST_CASE("classify: wrong records") {
  const auto error = [](MemoryDataset::Item item) {
    const MemoryDataset good({pixels_item(8, 8, 1)}), bad({std::move(item)});
    return sample_error(*make_sampler("classify", good), bad);
  };
  CHECK(error(pixels_item(8, 8, 1, 12)) == "label 12 is out of range 0..9");
  CHECK(error(pixels_item(8, 8, 1, -1)) == "label -1 is out of range 0..9");
  CHECK(error(pixels_item(8, 8, 2)) == "an image has 2 channels, expected 1 or 3");
  auto short_one = pixels_item(8, 8, 1);
  short_one.bytes.pop_back();
  CHECK(error(short_one) == "pixels of 8x8x1 do not fit 63 stored bytes");
}

TEST_CASE("classify: a garbled JPEG is bad unless warnings are accepted") {
  auto torn = jpeg_item(32, 32);
  torn.bytes.resize(torn.bytes.size() - 20);  // of the data behind the header
  const MemoryDataset dataset({torn});
  const auto make = [&](Values values) {
    values.emplace_back("size", whole(16));
    return make_sampler("classify", dataset, true, values);
  };
  CHECK(sample_error(*make({}), dataset) == "JPEG: Premature end of JPEG file");
  CHECK(sample_error(*make({{"warnings", text("bad")}}), dataset) == "JPEG: Premature end of JPEG file");
  const auto accepting = make({{"warnings", text("accept")}});
  CHECK(draw(*accepting, dataset, 0, 3) == draw(*accepting, dataset, 0, 3));
}

TEST_CASE("an unreadable first record does not hide the others") {
  auto broken = pixels_item(8, 8, 1);
  broken.bytes.clear();
  CHECK(make_sampler("classify", MemoryDataset({broken, pixels_item(8, 8, 1)}))->fields()[0].shape[0] == 8);
  try {
    make_sampler("copy", MemoryDataset({broken}));
    FAIL("nothing thrown");
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::data);
    CHECK(std::string(error.what()) ==
          "the first records cannot be read: memory #0: pixels of 8x8x1 do not fit 0 stored bytes");
  }
}

TEST_CASE("copy") {
  const MemoryDataset dataset({pixels_item(5, 7, 3, 2), pixels_item(5, 6, 3)});
  const auto sampler = make_sampler("copy", dataset);
  CHECK(sampler->fields()[0].name == "image");
  CHECK(sampler->fields()[0].shape == std::vector<std::int64_t>{5, 7, 3});
  const auto sample = draw(*sampler, dataset, 0);
  CHECK(sample.label == 2);
  CHECK(std::memcmp(sample.image.data(), pixels_item(5, 7, 3).bytes.data(), 105) == 0);
  CHECK_THROWS_WITH_AS(draw(*sampler, dataset, 1), "it has 90 bytes, but the first sample has 105", SampleError);

  const auto numbers = make_sampler("copy", dataset, true, {{"dtype", text("f32")}});
  CHECK(numbers->fields()[0].dtype == DType::f32);
  const auto floats = draw(*numbers, dataset, 0).image;
  REQUIRE(floats.size() == 105 * sizeof(float));
  for (std::size_t i = 0; i < 105; ++i) {
    float value;
    std::memcpy(&value, floats.data() + i * sizeof value, sizeof value);
    CHECK(value == static_cast<float>(sample.image[i]) * (1.0f / 255));
  }

  auto bytes = pixels_item(1, 9, 1);
  bytes.encoding = Encoding::bytes;
  CHECK(make_sampler("copy", MemoryDataset({bytes}))->fields()[0].name == "bytes");
  CHECK(usage_error([] { make_sampler("copy", MemoryDataset({jpeg_item(9, 9)})); }) ==
        "sampler.name: 'copy' needs samples of one size, but these are image files");
}

TEST_CASE("copy gives blocks of rows as it gives them one by one") {
  std::vector<MemoryDataset::Item> items;
  for (unsigned i = 0; i < 9; ++i) items.push_back(pixels_item(5, 7, 3, i, 3 + i));
  const MemoryDataset dataset(items);
  for (const char* dtype : {"u8", "f32"}) {
    const auto sampler = make_sampler("copy", dataset, true, {{"dtype", text(dtype)}});
    REQUIRE(sampler->takes_blocks());
    const std::size_t row_bytes = sampler->fields()[0].row_bytes();
    std::vector<Record> records;
    std::vector<const Record*> pointers;
    ReadBuffer buffer;
    for (std::uint64_t id = 0; id < 9; ++id) records.push_back(dataset.read(id, buffer));
    for (auto& record : records) pointers.push_back(&record);
    std::vector<std::uint8_t> images(9 * row_bytes);
    std::vector<std::int64_t> labels(9);
    std::byte* first[] = {reinterpret_cast<std::byte*>(images.data()), reinterpret_cast<std::byte*>(labels.data())};
    sampler->sample_rows(pointers, first);
    for (std::uint64_t id = 0; id < 9; ++id) {
      const Sample one = draw(*sampler, dataset, id);
      CHECK(labels[id] == one.label);
      CHECK(std::memcmp(images.data() + id * row_bytes, one.image.data(), row_bytes) == 0);
    }
    records[4].bytes = records[4].bytes.first(5);
    CHECK_THROWS_AS(sampler->sample_rows(pointers, first), SampleError);
  }
}

TEST_CASE("a warm sampler allocates nothing") {
  const MemoryDataset files({jpeg_item(90, 60), jpeg_item(40, 120)}), pixels({pixels_item(32, 32, 1)});
  const auto count = [](const Sampler& sampler, const Dataset& dataset) {
    std::vector<std::byte> image(sampler.fields()[0].row_bytes()), label(8);
    std::byte* row[] = {image.data(), label.data()};
    ReadBuffer buffer;
    const auto pass = [&] {
      const long before = allocations;
      for (std::uint64_t position = 0; position < 50; ++position) {
        Stream random(1, Purpose::sample, position);
        sampler.sample(dataset.read(position % dataset.size(), buffer), random, row);
      }
      return allocations - before;
    };
    pass();
    return pass();
  };
  const Values jitter{{"size", whole(24)}, {"brightness", 0.4}, {"contrast", 0.4}, {"saturation", 0.4}};
  CHECK(count(*make_sampler("classify", files, true, jitter), files) == 0);
  CHECK(count(*make_sampler("classify", files, false, jitter), files) == 0);
  CHECK(count(*make_sampler("classify", pixels, true, {{"channels", whole(3)}}), pixels) == 0);
  CHECK(count(*make_sampler("copy", pixels), pixels) == 0);
  const SamplerPlugin plugin(test::build_path("plugins/edges.so"));
  CHECK(count(*plugin.make(settings_for(plugin.keys(), {}, "sampler"), {pixels}), pixels) == 0);
}

TEST_CASE("classify: filters, the camera's orientation, and random changes by key") {
  // Red grows to the right, green downwards; stored as the camera turned by a quarter saw it.
  Image stored;
  orient(gradient_picture(60, 90, 3).view(), 8, stored);
  const MemoryDataset dataset({{Encoding::image, encode_jpeg(stored, false, {1, 1, 0, 6}), 0, 0, 0, 1}});
  const auto corner = [&](const Values& values, bool training) {
    Values all = values;
    all.emplace_back("size", whole(32));
    return draw(*make_sampler("classify", dataset, training, all), dataset, 0).image;
  };
  const auto seen = corner({{"exif", text("apply")}}, false), as_stored = corner({}, false);
  CHECK(seen[3 * 31] > seen[0] + 60);            // red to the right
  CHECK(seen[3 * 32 * 31 + 1] > seen[1] + 100);  // green downwards
  CHECK(as_stored[3 * 31] < as_stored[0] + 20);
  CHECK(corner({{"filter", text("bilinear")}}, false) != as_stored);
  const auto plain = corner({{"flip", 0.0}}, true);
  for (const auto& change : Values{{"augment", text("randaugment")},
                                   {"augment", text("trivialaugment")},
                                   {"rotate", 30.0},
                                   {"translate", 0.5},
                                   {"shear", 20.0},
                                   {"hue", 0.5},
                                   {"grey", 1.0},
                                   {"solarize", 1.0}}) {
    INFO(change.first);
    CHECK(corner({{"flip", 0.0}, change}, true) != plain);
    CHECK(corner({{"flip", 0.0}, change}, true) == corner({{"flip", 0.0}, change}, true));
    CHECK(corner({change}, false) == as_stored);
  }
  const MemoryDataset large({{Encoding::image, encode_jpeg(noise_picture(200, 300, 3)), 0, 0, 0, 1}});
  const auto decoded = [&](bool fast) {
    return draw(*make_sampler("classify", large, false, {{"size", whole(32)}, {"fast_decode", fast}}), large, 0).image;
  };
  CHECK(decoded(true) != decoded(false));
  CHECK(mean_difference(decoded(true), decoded(false)) < 5);
  CHECK(usage_error([&] {
          corner({{"zoom", std::vector<double>{2, 1}}}, true);
        }).find("must be [least, most]") != std::string::npos);
}

}  // namespace flowtrain::classify_test
