// The samplers cornernet and cornernet_saccade as the line calls them.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "sampling/codecs/exif.h"
#include "sampling/core/registry.h"
#include "sampling/sampler.h"
#include "sampling/samplers/cornernet/targets.h"
#include "tests/support/memory_dataset.h"
#include "tests/support/pictures.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::cornernet_sampler_test {
namespace {

using Values = std::vector<std::pair<std::string, Value>>;

/// As a data set for detection; its records do not matter here.
struct Boxed : MemoryDataset {
  using MemoryDataset::MemoryDataset;
  bool has_boxes() const override { return true; }
};

const Boxed classes({pixels_item(8, 8, 3)}, 4);

std::unique_ptr<Sampler> make(const std::string& name, const Values& values = {}, bool training = true) {
  const auto& entry = samplers().at(name);
  return entry.make(settings_for(entry.keys, values, "sampler"), {classes, training});
}

/// One row with its fields by name.
struct Filled {
  std::vector<Field> fields;
  std::vector<std::vector<std::byte>> bytes;

  template <class T>
  std::vector<T> of(const std::string& name) const {
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (fields[i].name == name) {
        std::vector<T> values(bytes[i].size() / sizeof(T));
        std::memcpy(values.data(), bytes[i].data(), bytes[i].size());
        return values;
      }
    throw InternalError("no field " + name);
  }
  std::size_t objects() const {
    const auto mask = of<std::uint8_t>("mask");
    return static_cast<std::size_t>(std::count(mask.begin(), mask.end(), 1));
  }
};

/// A grey picture of 200x260 with boxes.
struct Annotated {
  std::vector<Box> boxes;
  std::uint32_t height = 200, width = 260, channels = 3;
  std::vector<std::byte> pixels = std::vector<std::byte>(height * width * channels, std::byte{100});

  Record record() const {
    return {.encoding = Encoding::pixels,
            .bytes = pixels,
            .height = height,
            .width = width,
            .channels = channels,
            .boxes = boxes};
  }
};

Filled fill(const Sampler& sampler, const Record& record, std::uint64_t position = 0, int garbage = 0xee) {
  Filled filled{sampler.fields(), {}};
  std::vector<std::byte*> row;
  for (auto& field : filled.fields) filled.bytes.emplace_back(field.row_bytes(), static_cast<std::byte>(garbage));
  for (auto& bytes : filled.bytes) row.push_back(bytes.data());
  Stream random(1, Purpose::sample, position);
  sampler.sample(record, random, row);
  return filled;
}

std::string sample_error(const Sampler& sampler, const Record& record) {
  try {
    fill(sampler, record);
  } catch (const SampleError& error) {
    return error.what();
  }
  return "nothing thrown";
}

std::string usage_error(const std::string& name, const Values& values) {
  try {
    make(name, values);
  } catch (const UserError& error) {
    CHECK(error.code() == ExitCode::usage);
    return error.what();
  }
  return "nothing thrown";
}

Value whole(std::int64_t value) { return value; }
Value integers(std::vector<std::int64_t> values) { return values; }
Value text(const char* value) { return std::string(value); }

/// A stretched validation picture: boxes can be computed by hand.
const Values plain{{"rand_crop", false}, {"input_size", integers({100, 130})}, {"output_size", integers({50, 65})}};

}  // namespace

TEST_CASE("cornernet: fields, and every byte of a row is written") {
  const auto sampler = make("cornernet");
  const auto fields = sampler->fields();
  REQUIRE(fields.size() == 9);
  CHECK(fields[0].shape == std::vector<std::int64_t>{511, 511, 3});
  CHECK(fields[0].dtype == DType::f32);
  CHECK(fields[1].shape == std::vector<std::int64_t>{512, 7});
  CHECK(fields[2].dtype == DType::u8);
  CHECK(fields[4].shape == std::vector<std::int64_t>{128, 2});
  CHECK(fields[6].name == "br_ind");
  CHECK(fields[7].name == "untagged");
  CHECK(make("cornernet_saccade")->fields().size() == 12);
  CHECK(make("cornernet_saccade")->fields()[11].shape == std::vector<std::int64_t>{1, 64, 64});

  const Annotated picture{{{20, 30, 100, 150, 1}, {110, 20, 200, 60, 3}}};
  for (const char* name : {"cornernet", "cornernet_saccade"})
    for (std::uint64_t position = 0; position < 20; ++position) {
      const auto each = make(name);
      CHECK(fill(*each, picture.record(), position, 0xee).bytes == fill(*each, picture.record(), position, 0x11).bytes);
    }
}

TEST_CASE("cornernet: corners, cells and offsets of a picture that is only stretched") {
  const auto sampler = make("cornernet", plain, false);
  const Annotated picture{{{20, 30, 101, 150, 1}, {111, 21, 200, 60, 3}}};  // stretched by 1/2, cells of 2x2 of that
  const auto row = fill(*sampler, picture.record());
  CHECK(row.objects() == 2);
  const auto tl = row.of<std::int64_t>("tl_ind"), br = row.of<std::int64_t>("br_ind");
  CHECK(tl[0] == 7 * 65 + 5);
  CHECK(br[0] == 37 * 65 + 25);
  CHECK(tl[1] == 5 * 65 + 27);
  const auto off = row.of<float>("tl_off"), br_off = row.of<float>("br_off");
  CHECK(off[0] == 0);
  CHECK(off[1] == 0.5f);
  CHECK(off[2] == 0.75f);
  CHECK(off[3] == 0.25f);
  CHECK(br_off[0] == 0.25f);
  const auto gaussians = row.of<GaussianTarget>("gaussians");
  CHECK(gaussians[0] == GaussianTarget{1, 5, 7, 25, 37, gaussians[0][5], 1});
  CHECK(gaussians[1] == GaussianTarget{3, 27, 5, 50, 15, gaussians[1][5], 1});
  CHECK(gaussians[2][0] == -1);
  CHECK(row.of<std::int32_t>("cells") == std::vector<std::int32_t>{50, 65});
  // Grey 100 of 255, blue first.
  const auto image = row.of<float>("image");
  CHECK(image[0] == doctest::Approx((100 / 255. - 0.40789654) / 0.28863828));
  CHECK(image[2] == doctest::Approx((100 / 255. - 0.47026115) / 0.27809835));
}

TEST_CASE("cornernet: the same stream gives the same row, validation takes nothing from it") {
  const Annotated picture{{{20, 30, 100, 150, 1}}};
  for (const char* name : {"cornernet", "cornernet_saccade"}) {
    INFO(name);
    const auto training = make(name), validation = make(name, {}, false);
    const auto mirrored = make(name, {{"quirks", text("mirror")}}, false);
    CHECK(fill(*training, picture.record(), 7).bytes == fill(*training, picture.record(), 7).bytes);
    CHECK(fill(*training, picture.record(), 7).bytes != fill(*training, picture.record(), 8).bytes);
    CHECK(fill(*validation, picture.record(), 7).bytes == fill(*validation, picture.record(), 8).bytes);
    CHECK(fill(*mirrored, picture.record(), 7).bytes == fill(*training, picture.record(), 7).bytes);
  }
}

TEST_CASE("cornernet: no boxes, boxes at the borders, boxes without area") {
  for (const char* name : {"cornernet", "cornernet_saccade"}) {
    INFO(name);
    const auto sampler = make(name);
    CHECK(fill(*sampler, Annotated{}.record()).objects() == 0);
    const Annotated edges{{{0, 0, 260, 200, 0},
                           {-5, -5, 40, 40, 1},
                           {200, 150, 300, 250, 2},
                           {259.5f, 0, 260, 200, 3},
                           {50, 50, 50, 90, 3}}};
    for (std::uint64_t position = 0; position < 50; ++position) fill(*sampler, edges.record(), position);
  }
  const Annotated edges{{{0, 0, 260, 200, 0}, {259.5f, 0, 260, 200, 3}, {50, 50, 50, 90, 3}}};
  CHECK(fill(*make("cornernet", plain, false), edges.record()).objects() == 1);
}

TEST_CASE("cornernet: pictures of any size and of one channel") {
  for (const char* name : {"cornernet", "cornernet_saccade"})
    for (const auto& [height, width] : {std::pair{1u, 1u}, std::pair{1u, 700u}, std::pair{900u, 2u}}) {
      Annotated picture{{{0, 0, static_cast<float>(width), static_cast<float>(height), 0}}, height, width, 1};
      for (std::uint64_t position = 0; position < 20; ++position) fill(*make(name), picture.record(), position);
    }
}

TEST_CASE("cornernet: more than max_objects") {
  Annotated crowd;
  for (int i = 0; i < 140; ++i) {
    const auto x = static_cast<float>(i % 14 * 18), y = static_cast<float>(i / 14 * 19);
    crowd.boxes.push_back({x, y, x + 4, y + (i < 20 ? 6.0f : 8.0f), 0});
  }
  auto values = plain;
  const auto row = fill(*make("cornernet", values, false), crowd.record());
  CHECK(row.objects() == 128);
  // Of the 20 smaller ones the first 8 are left, then all others; all leave bumps.
  const auto ind = row.of<std::int64_t>("tl_ind");
  const auto cell = [&](int i) { return i / 14 * 19 / 4 * 65 + i % 14 * 18 / 4; };
  CHECK(ind[0] == cell(0));
  CHECK(ind[7] == cell(7));
  CHECK(ind[8] == cell(20));
  CHECK(ind[127] == cell(139));
  CHECK(row.of<GaussianTarget>("gaussians")[12][1] == 12 * 18 / 4);
  CHECK(row.of<GaussianTarget>("gaussians")[139][0] == 0);
  CHECK(row.of<std::int32_t>("untagged")[0] == 12);

  values.emplace_back("quirks", text("mirror"));
  CHECK(sample_error(*make("cornernet", values), crowd.record()) == "140 objects are more than max_objects = 128");
  values.emplace_back("max_objects", whole(200));
  CHECK(fill(*make("cornernet", values), crowd.record()).fields[2].shape == std::vector<std::int64_t>{200});
}

TEST_CASE("cornernet: damaged samples") {
  const auto sampler = make("cornernet_saccade"), mirrored = make("cornernet", {{"quirks", text("mirror")}});
  const auto error = [&](Box box) { return sample_error(*sampler, Annotated{{{0, 0, 9, 9, 0}, box}}.record()); };
  CHECK(error({0, 0, 9, 9, 4}) == "box 1: class 4 is out of range 0..3");
  CHECK(error({0, 0, 9, 9, -1}) == "box 1: class -1 is out of range 0..3");
  CHECK(error({0, 0, NAN, 9, 1}) == "box 1 (0.00 0.00 nan 9.00): a corner is not a number");
  CHECK(error({260, 0, 300, 9, 1}) == "box 1 (260.00 0.00 300.00 9.00) is outside of the image of 260x200");
  CHECK(error({20, 0, 10, 9, 1}) == "box 1 (20.00 0.00 10.00 9.00): its second corner is left of or above the first");
  CHECK(sample_error(*mirrored, Annotated{{{260, 0, 300, 9, 1}}}.record()) == "nothing thrown");

  const Annotated picture;
  Record record = picture.record();
  record.bytes = {};
  CHECK(sample_error(*sampler, record).find("bytes") != std::string::npos);
  record = picture.record();
  record.encoding = Encoding::image;
  CHECK(sample_error(*sampler, record).find("JPEG") != std::string::npos);
  record = picture.record();
  record.channels = 2;
  record.bytes = record.bytes.first(200 * 260 * 2);
  CHECK(sample_error(*sampler, record) == "an image has 2 channels, expected 1 or 3");
  record = picture.record();
  record.region = {0, 0, 10, 10, -1};
  CHECK(sample_error(*sampler, record) ==
        "the sample is a part of an image, but detection needs whole images with their boxes");
}

TEST_CASE("cornernet: pictures are turned as Exif says, unless it is to be ignored") {
  const auto stored = encode_jpeg(gradient_picture(60, 90, 3), false, {1, 1, 0, 6});
  Image seen;
  orient(gradient_picture(60, 90, 3).view(), 6, seen);
  const auto upright = encode_jpeg(seen), plain_file = encode_jpeg(gradient_picture(60, 90, 3), false, {1, 1});
  const std::vector<Box> boxes{{10, 20, 30, 40, 1}};
  const auto image = [&](const std::vector<std::byte>& file, const char* exif) {
    Values values = plain;
    if (exif) values.emplace_back("exif", text(exif));
    const Record record{.encoding = Encoding::image, .bytes = file, .boxes = boxes};
    return fill(*make("cornernet", values, false), record).of<float>("image");
  };
  const auto difference = [](const std::vector<float>& a, const std::vector<float>& b) {
    double most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[i] - b[i])));
    return most;
  };
  CHECK(difference(image(stored, nullptr), image(upright, nullptr)) < 0.3);
  CHECK(image(stored, nullptr) == image(stored, "apply"));
  CHECK(image(stored, "ignore") == image(plain_file, nullptr));
  CHECK(difference(image(stored, "ignore"), image(stored, "apply")) > 1);
  const Record other{.encoding = Encoding::image, .bytes = stored, .height = 60, .width = 90, .boxes = boxes};
  CHECK(sample_error(*make("cornernet", plain, false), other).starts_with("the annotation is for an image of 90x60"));
}

TEST_CASE("cornernet: settings that do not fit") {
  const std::string at = "test.toml:1:1: sampler.";
  CHECK(usage_error("cornernet", {{"input_size", integers({511})}}) == at + "input_size: must be [height, width]");
  CHECK(usage_error("cornernet", {{"output_size", integers({600, 600})}}) ==
        at + "output_size: is larger than input_size");
  CHECK(usage_error("cornernet", {{"rand_scale_max", 0.6}}) ==
        at + "rand_scale_max: must be greater than rand_scale_min, or no scale is left");
  CHECK(usage_error("cornernet_saccade", {{"att_sizes", integers({16, 32})}}) ==
        at + "att_sizes: has 2 maps; att_ratios must have as many values, att_ranges twice as many");
  CHECK(usage_error("cornernet_saccade", {{"input_size", integers({383, 383})}})
            .find("map 0 has 16 cells a side, but an input of 383x383 at 16 pixels a cell needs 24") !=
        std::string::npos);
  CHECK(usage_error("cornernet_saccade", {{"rand_color", true}}) != "nothing thrown");  // it is always on
  const MemoryDataset without({pixels_item(8, 8, 3)}, 0);
  const auto& entry = samplers().at("cornernet");
  CHECK_THROWS_AS(entry.make(settings_for(entry.keys, {}, "sampler"), {without, true}), UserError);
}

TEST_CASE("cornernet: data with classes but no boxes are refused before any is read") {
  const MemoryDataset labelled({pixels_item(8, 8, 3)}, 4);
  for (const char* name : {"cornernet", "cornernet_saccade"}) {
    const auto& entry = samplers().at(name);
    for (const bool training : {true, false}) {
      try {
        entry.make(settings_for(entry.keys, {}, "sampler"), {labelled, training});
        FAIL("nothing thrown");
      } catch (const UserError& error) {
        CHECK(error.code() == ExitCode::data);
        CHECK(error.what() == std::string("sampler.name: '") + name + "' learns from boxes, but the " +
                                  (training ? "training" : "validation") + " data have none");
        CHECK(error.hint().find("coco, voc and shapes") != std::string::npos);
      }
    }
  }
}

}  // namespace flowtrain::cornernet_sampler_test
