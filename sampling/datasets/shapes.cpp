// The `shapes` data set: drawn on the fly, so that everything can be tried without a download. The classes differ only
// in form: place, size, angle and colours do not depend on the class.

#include "sampling/datasets/shapes.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <type_traits>

#include "sampling/core/random.h"
#include "sampling/datasets/entries.h"
#include "sampling/datasets/split_names.h"

namespace flowtrain {
namespace {

static_assert(std::is_trivially_copyable_v<ShapeRecipe>);

struct ShapesSettings {
  std::string split;
  std::uint64_t first_position;  ///< position in the stream of all splits, which never share an image
  std::uint64_t samples, seed;
  std::uint32_t size, classes, objects;
  float noise;
};

std::array<float, 3> draw_color(Stream& random) {
  std::array<float, 3> color;
  for (auto& part : color) part = static_cast<float>(random.uniform());
  return color;
}

/// Draws a colour that differs from the background: one that is too similar is moved by half the range.
std::array<float, 3> draw_color_unlike(const std::array<float, 3>& background, Stream& random) {
  auto color = draw_color(random);
  float contrast = 0;
  for (int c = 0; c < 3; ++c) contrast = std::max(contrast, std::abs(color[c] - background[c]));
  if (contrast < 0.3f)
    for (auto& part : color) part = part < 0.5f ? part + 0.5f : part - 0.5f;
  return color;
}

Shape draw_shape(ShapeKind kind, float radius, const ShapeRecipe& recipe, Stream& random) {
  const double size = recipe.size, turn = 2 * std::numbers::pi;
  return {.kind = kind,
          .x = static_cast<float>(random.uniform(radius, size - radius)),
          .y = static_cast<float>(random.uniform(radius, size - radius)),
          .radius = radius,
          .angle = static_cast<float>(random.uniform(0, turn)),
          .color = draw_color_unlike(recipe.background, random)};
}

bool overlaps(const Shape& shape, const ShapeRecipe& recipe) {
  return std::any_of(recipe.shapes.begin(), recipe.shapes.begin() + recipe.count, [&](const Shape& other) {
    return std::hypot(shape.x - other.x, shape.y - other.y) < shape.radius + other.radius;
  });
}

class Shapes : public Dataset {
 public:
  explicit Shapes(ShapesSettings settings) : settings_(std::move(settings)) {}

  std::uint64_t size() const override { return settings_.samples; }

  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    const auto recipe = recipe_of(id);
    buffer.bytes.resize(sizeof recipe);
    std::memcpy(buffer.bytes.data(), &recipe, sizeof recipe);
    buffer.boxes.clear();
    for (std::uint32_t i = 0; i < recipe.count; ++i) buffer.boxes.push_back(bounding_box(recipe.shapes[i]));
    return {.id = id,
            .encoding = Encoding::shapes,
            .bytes = buffer.bytes,
            .label = buffer.boxes[0].label,
            .boxes = buffer.boxes};
  }

  std::int64_t label(std::uint64_t id) const override {
    auto random = stream_of(id);
    return static_cast<std::int64_t>(draw_kind(random));
  }

  std::vector<std::string> classes() const override {
    return {shape_names.begin(), shape_names.begin() + settings_.classes};
  }
  bool has_boxes() const override { return true; }
  std::string describe(std::uint64_t id) const override {
    return "shapes " + settings_.split + " #" + std::to_string(id);
  }
  bool resident() const override { return true; }

 private:
  Stream stream_of(std::uint64_t id) const {
    return Stream(settings_.seed, Purpose::dataset, settings_.first_position + id);
  }
  ShapeKind draw_kind(Stream& random) const { return static_cast<ShapeKind>(random.below(settings_.classes)); }

  ShapeRecipe recipe_of(std::uint64_t id) const {
    auto random = stream_of(id);
    const auto kind = draw_kind(random);  // first, so that label() need not draw the rest
    ShapeRecipe recipe{.size = settings_.size,
                       .count = 1,
                       .background = draw_color(random),
                       .noise = settings_.noise,
                       .noise_seed = random.next64(),
                       .shapes = {}};
    const double size = settings_.size;
    recipe.shapes[0] = draw_shape(kind, static_cast<float>(random.uniform(0.25, 0.42) * size), recipe, random);
    for (std::uint32_t object = 1; object < settings_.objects; ++object) add_smaller(recipe, random);
    return recipe;
  }

  /// Adds a shape smaller than the main one if there is room: images may have fewer objects than requested.
  void add_smaller(ShapeRecipe& recipe, Stream& random) const {
    constexpr int tries = 20;
    for (int attempt = 0; attempt < tries; ++attempt) {
      const auto kind = draw_kind(random);
      const auto radius = static_cast<float>(random.uniform(0.08, 0.18) * settings_.size);
      const auto shape = draw_shape(kind, radius, recipe, random);
      if (overlaps(shape, recipe)) continue;
      recipe.shapes[recipe.count++] = shape;
      return;
    }
  }

  ShapesSettings settings_;
};

std::unique_ptr<Dataset> make_shapes(const Settings& settings, const DatasetInput& input) {
  static const std::vector<std::string> splits{"train", "val", "test"};
  auto split = usual_split(settings.text("split"));
  if (split.empty()) split = input.training ? "train" : "val";
  const auto found = std::find(splits.begin(), splits.end(), split);
  if (found == splits.end())
    throw settings.error("split", "shapes has no split " + to_toml(settings.value("split")), ExitCode::usage,
                         "set train, val or test");
  const bool is_train = found == splits.begin();
  return std::make_unique<Shapes>(
      ShapesSettings{.split = split,
                     .first_position = static_cast<std::uint64_t>(found - splits.begin()) << 40,
                     .samples = static_cast<std::uint64_t>(settings.integer(is_train ? "samples" : "val_samples")),
                     .seed = static_cast<std::uint64_t>(settings.integer("seed")),
                     .size = static_cast<std::uint32_t>(settings.integer("size")),
                     .classes = static_cast<std::uint32_t>(settings.integer("classes")),
                     .objects = static_cast<std::uint32_t>(settings.integer("objects")),
                     .noise = static_cast<float>(settings.real("noise"))});
}

}  // namespace

DatasetEntry shapes_entry() {
  return {.name = "shapes",
          .help = "images of simple shapes, drawn on the fly; needs no files. split: train, val or test",
          .keys = {{"samples", Kind::integer, 8000, "number of images of the train split", 1, 0x1p40},
                   {"val_samples", Kind::integer, 1000, "number of images of the val and the test split", 1, 0x1p40},
                   {"size", Kind::integer, 32, "side of the images, in pixels", 8, 4096},
                   {"classes", Kind::integer, 6,
                    "number of classes, from circle, square, triangle, cross, ring, star, diamond, bar", 2,
                    shape_names.size()},
                   {"objects", Kind::integer, 1, "most shapes per image; the label is that of the largest", 1,
                    ShapeRecipe::max_shapes},
                   {"noise", Kind::real, 0.05, "standard deviation of the pixels' noise; 1: the whole range", 0, 1},
                   {"seed", Kind::integer, 0, "seed of the drawing; another seed makes other images", 0}},
          .make = make_shapes};
}

}  // namespace flowtrain
