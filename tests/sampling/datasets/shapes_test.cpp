#include "sampling/datasets/shapes.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "sampling/codecs/image.h"
#include "sampling/dataset.h"
#include "sampling/datasets/entries.h"
#include "tests/support/settings_helper.h"

namespace flowtrain::shapes_test {

namespace {

std::unique_ptr<Dataset> make(const std::vector<std::pair<std::string, Value>>& values = {}, bool training = true) {
  const auto entry = shapes_entry();
  return entry.make(settings_for(entry.keys, values), {training});
}

std::vector<std::uint8_t> pixels_of(const Dataset& dataset, std::uint64_t id) {
  ReadBuffer buffer;
  Image image;
  draw_shapes(dataset.read(id, buffer).bytes, image);
  return image.pixels;
}

/// One shape, white on black, without noise.
ShapeRecipe plain(Shape shape) {
  shape.color = {1, 1, 1};
  return {.size = 64, .count = 1, .background = {0, 0, 0}, .noise = 0, .noise_seed = 0, .shapes = {shape}};
}

std::span<const std::byte> bytes_of(const ShapeRecipe& recipe) { return std::as_bytes(std::span(&recipe, 1)); }

}  // namespace

TEST_CASE("shapes: sizes, classes and labels") {
  const auto dataset = make({{"samples", 50}, {"classes", 4}});
  CHECK(dataset->size() == 50);
  CHECK(dataset->classes() == std::vector<std::string>{"circle", "square", "triangle", "cross"});
  CHECK(dataset->resident());
  CHECK(dataset->describe(17) == "shapes train #17");
  std::set<std::int64_t> labels;
  for (std::uint64_t id = 0; id < dataset->size(); ++id) {
    ReadBuffer buffer;
    const auto record = dataset->read(id, buffer);
    CHECK(record.id == id);
    CHECK(record.encoding == Encoding::shapes);
    CHECK(record.label == dataset->label(id));
    REQUIRE(record.boxes.size() == 1);
    CHECK(record.boxes[0].label == record.label);
    labels.insert(record.label);
  }
  CHECK(labels == std::set<std::int64_t>{0, 1, 2, 3});
  CHECK(make()->size() == 8000);
  CHECK(make({}, false)->size() == 1000);
  CHECK(make({{"val_samples", 7}}, false)->size() == 7);
}

TEST_CASE("shapes: a picture depends on seed, split and id alone") {
  const auto dataset = make();
  CHECK(pixels_of(*dataset, 3) == pixels_of(*make(), 3));
  CHECK(pixels_of(*dataset, 3).size() == 32 * 32 * 3);
  CHECK(pixels_of(*dataset, 3) != pixels_of(*dataset, 4));
  CHECK(pixels_of(*dataset, 3) != pixels_of(*make({{"seed", 1}}), 3));
  CHECK(pixels_of(*dataset, 3) == pixels_of(*make({{"samples", 5}}), 3));
  CHECK(pixels_of(*make({}, false), 3) == pixels_of(*make({{"split", "val"}}), 3));
}

TEST_CASE("shapes: the splits share no picture") {
  std::set<std::string> pictures;
  for (const std::string split : {"train", "val", "test"}) {
    const auto dataset = make({{"split", split}, {"samples", 200}, {"val_samples", 200}});
    for (std::uint64_t id = 0; id < 200; ++id) {
      const auto pixels = pixels_of(*dataset, id);
      pictures.emplace(pixels.begin(), pixels.end());
    }
  }
  CHECK(pictures.size() == 600);
}

TEST_CASE("shapes: reading and drawing use the same memory again") {
  const auto dataset = make({{"objects", 8}, {"size", 64}});
  ReadBuffer buffer;
  buffer.boxes.reserve(8);
  Image image;
  draw_shapes(dataset->read(0, buffer).bytes, image);
  const auto *bytes = buffer.bytes.data(), *pixels = reinterpret_cast<std::byte*>(image.pixels.data());
  const auto* boxes = buffer.boxes.data();
  for (std::uint64_t id = 1; id < 100; ++id) draw_shapes(dataset->read(id, buffer).bytes, image);
  CHECK(buffer.bytes.data() == bytes);
  CHECK(buffer.boxes.data() == boxes);
  CHECK(reinterpret_cast<std::byte*>(image.pixels.data()) == pixels);
}

TEST_CASE("shapes: boxes lie just around what is drawn") {
  for (std::uint32_t kind = 0; kind < shape_names.size(); ++kind)
    for (const float angle : {0.0f, 0.5f, 2.1f, 4.0f}) {
      const Shape shape{static_cast<ShapeKind>(kind), 31.3f, 33.8f, 24, angle, {}};
      Image image;
      draw_shapes(bytes_of(plain(shape)), image);
      float x0 = 64, y0 = 64, x1 = 0, y1 = 0, area = 0;
      for (int y = 0; y < 64; ++y)
        for (int x = 0; x < 64; ++x) {
          const auto value = image.pixels[static_cast<std::size_t>(y * 64 + x) * 3];
          area += static_cast<float>(value) / 255;
          if (value < 32) continue;
          x0 = std::min(x0, static_cast<float>(x)), x1 = std::max(x1, static_cast<float>(x + 1));
          y0 = std::min(y0, static_cast<float>(y)), y1 = std::max(y1, static_cast<float>(y + 1));
        }
      const Box box = bounding_box(shape);
      CAPTURE(shape_names[kind]);
      CAPTURE(angle);
      CHECK(box.label == static_cast<std::int32_t>(kind));
      // Tips may end up to two pixels before the box: the last ones of a sharp tip are hardly covered.
      CHECK(x0 - box.x0 > -1.01f);
      CHECK(x0 - box.x0 < 2.01f);
      CHECK(y0 - box.y0 > -1.01f);
      CHECK(y0 - box.y0 < 2.01f);
      CHECK(box.x1 - x1 > -1.01f);
      CHECK(box.x1 - x1 < 2.01f);
      CHECK(box.y1 - y1 > -1.01f);
      CHECK(box.y1 - y1 < 2.01f);
      if (shape.kind == ShapeKind::circle) CHECK(area == doctest::Approx(3.14159 * 24 * 24).epsilon(0.01));
      if (shape.kind == ShapeKind::square) CHECK(area == doctest::Approx(2 * 24 * 24).epsilon(0.01));
      if (shape.kind == ShapeKind::diamond) CHECK(area == doctest::Approx(24 * 24).epsilon(0.01));
    }
}

TEST_CASE("shapes: further objects are smaller, apart, and within the picture") {
  const auto dataset = make({{"objects", 6}, {"size", 96}, {"samples", 200}});
  ReadBuffer buffer;
  std::size_t most = 0;
  for (std::uint64_t id = 0; id < dataset->size(); ++id) {
    const auto record = dataset->read(id, buffer);
    most = std::max(most, record.boxes.size());
    ShapeRecipe recipe;
    std::memcpy(&recipe, record.bytes.data(), sizeof recipe);
    REQUIRE(recipe.count == record.boxes.size());
    CHECK(record.label == static_cast<std::int64_t>(recipe.shapes[0].kind));
    for (std::uint32_t i = 0; i < recipe.count; ++i) {
      CHECK(record.boxes[i].x0 >= -0.01f);
      CHECK(record.boxes[i].y0 >= -0.01f);
      CHECK(record.boxes[i].x1 <= 96.01f);
      CHECK(record.boxes[i].y1 <= 96.01f);
      for (std::uint32_t j = 0; j < i; ++j) {
        const Shape &a = recipe.shapes[i], &b = recipe.shapes[j];
        CHECK(std::hypot(a.x - b.x, a.y - b.y) >= a.radius + b.radius);
        if (j == 0) CHECK(a.radius < b.radius);
      }
    }
  }
  CHECK(most == 6);
}

TEST_CASE("shapes: noise has the standard deviation asked for") {
  auto recipe = plain({ShapeKind::circle, 0, 0, 1e-3f, 0, {}});
  recipe.background = {0.5f, 0.5f, 0.5f};
  recipe.noise = 0.1f;
  Image image;
  draw_shapes(bytes_of(recipe), image);
  double sum = 0, squares = 0;
  for (const double value : image.pixels) {
    sum += value;
    squares += value * value;
  }
  const double n = static_cast<double>(image.pixels.size()), mean = sum / n;
  CHECK(mean == doctest::Approx(128).epsilon(0.01));
  CHECK(std::sqrt(squares / n - mean * mean) == doctest::Approx(25.5).epsilon(0.02));
}

TEST_CASE("shapes: colours say nothing about the class") {
  const auto dataset = make();
  std::vector<double> red(6), count(6);
  ReadBuffer buffer;
  for (std::uint64_t id = 0; id < dataset->size(); ++id) {
    const auto record = dataset->read(id, buffer);
    ShapeRecipe recipe;
    std::memcpy(&recipe, record.bytes.data(), sizeof recipe);
    red[record.label] += recipe.shapes[0].color[0];
    ++count[record.label];
  }
  for (int label = 0; label < 6; ++label) {
    CHECK(count[label] == doctest::Approx(8000.0 / 6).epsilon(0.1));
    CHECK(red[label] / count[label] == doctest::Approx(0.5).epsilon(0.06));
  }
}

TEST_CASE("shapes: bytes that are no recipe are a bad sample") {
  Image image;
  auto recipe = plain({ShapeKind::circle, 32, 32, 10, 0, {}});
  CHECK_THROWS_WITH_AS(draw_shapes(bytes_of(recipe).first(20), image), "the record is not a recipe of shapes",
                       SampleError);
  auto many = recipe;
  many.count = ShapeRecipe::max_shapes + 1;
  auto odd = recipe;
  odd.shapes[0].kind = static_cast<ShapeKind>(99);
  auto lost = recipe;
  lost.shapes[0].x = std::nanf("");
  for (const auto& broken : {many, odd, lost})
    CHECK_THROWS_WITH_AS(draw_shapes(bytes_of(broken), image), "a recipe of shapes cannot be drawn", SampleError);
  auto vast = recipe;
  vast.size = 0xffffffff;
  CHECK_THROWS_AS(draw_shapes(bytes_of(vast), image), SampleError);
}

TEST_CASE("shapes: an unknown split") {
  try {
    make({{"split", "night"}});
    FAIL("no error");
  } catch (const UserError& error) {
    CHECK(error.what() == std::string("test.toml:1:1: data.split: shapes has no split \"night\""));
    CHECK(error.code() == ExitCode::usage);
    CHECK(error.hint() == "set train, val or test");
  }
}

}  // namespace flowtrain::shapes_test
