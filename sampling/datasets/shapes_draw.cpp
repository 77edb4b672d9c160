#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numbers>

#include "sampling/codecs/image.h"
#include "sampling/core/error.h"
#include "sampling/core/random.h"
#include "sampling/datasets/shapes.h"

namespace flowtrain {
namespace {

struct Point {
  float x, y;
};

constexpr float ring_width = 0.36f;  // share of its radius

/// Returns corners in order, on or within the unit circle; round shapes have none.
std::span<const Point> outline(ShapeKind kind) {
  static constexpr std::array<Point, 4> square{
      {{-0.7071f, -0.7071f}, {0.7071f, -0.7071f}, {0.7071f, 0.7071f}, {-0.7071f, 0.7071f}}};
  static constexpr std::array<Point, 3> triangle{{{0, -1}, {0.8660f, 0.5f}, {-0.8660f, 0.5f}}};
  static constexpr float a = 0.28f, b = 0.96f;  // half the width and half the length of the cross's arms
  static constexpr std::array<Point, 12> cross{
      {{-a, -b}, {a, -b}, {a, -a}, {b, -a}, {b, a}, {a, a}, {a, b}, {-a, b}, {-a, a}, {-b, a}, {-b, -a}, {-a, -a}}};
  static constexpr std::array<Point, 4> diamond{{{0, -1}, {0.5f, 0}, {0, 1}, {-0.5f, 0}}};
  static constexpr std::array<Point, 4> bar{{{-0.97f, -0.24f}, {0.97f, -0.24f}, {0.97f, 0.24f}, {-0.97f, 0.24f}}};
  static const std::array<Point, 10> star = [] {
    std::array<Point, 10> points;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const float angle = static_cast<float>(i) * std::numbers::pi_v<float> / 5, reach = i % 2 ? 0.42f : 1.0f;
      points[i] = {reach * std::sin(angle), -reach * std::cos(angle)};
    }
    return points;
  }();
  switch (kind) {
    case ShapeKind::circle:
    case ShapeKind::ring: return {};
    case ShapeKind::square: return square;
    case ShapeKind::triangle: return triangle;
    case ShapeKind::cross: return cross;
    case ShapeKind::star: return star;
    case ShapeKind::diamond: return diamond;
    case ShapeKind::bar: return bar;
  }
  throw InternalError("a shape has an unknown kind");
}

/// A shape of radius 1, not turned, prepared for many distance queries.
class UnitShape {
 public:
  explicit UnitShape(ShapeKind kind) : is_ring_(kind == ShapeKind::ring) {
    const auto corners = outline(kind);
    Point from = corners.empty() ? Point{} : corners.back();
    for (const Point to : corners) {
      const Point along{to.x - from.x, to.y - from.y};
      edges_[edge_count_++] = {from, along, 1 / (along.x * along.x + along.y * along.y)};
      from = to;
    }
  }

  /// Returns the distance from `p` to the shape's edge, negative inside.
  float distance(Point p) const {
    if (edge_count_ > 0) return polygon_distance(p);
    const float from_centre = std::sqrt(p.x * p.x + p.y * p.y);
    return is_ring_ ? std::abs(from_centre - (1 - ring_width / 2)) - ring_width / 2 : from_centre - 1;
  }

 private:
  struct Edge {
    Point from, along;
    float inverse_square;  ///< 1 / length²
  };

  /// A point is inside if a ray to the right crosses an odd number of edges.
  float polygon_distance(Point p) const {
    float nearest_square = std::numeric_limits<float>::max();
    bool inside = false;
    for (std::size_t i = 0; i < edge_count_; ++i) {
      const auto& [from, along, inverse_square] = edges_[i];
      const float x = p.x - from.x, y = p.y - from.y;
      const float share = std::clamp((x * along.x + y * along.y) * inverse_square, 0.0f, 1.0f);
      const float off_x = x - share * along.x, off_y = y - share * along.y;
      nearest_square = std::min(nearest_square, off_x * off_x + off_y * off_y);
      const bool spans = (y < 0) != (y < along.y);
      const bool left_of = (x * along.y < y * along.x) == (along.y > 0);
      inside ^= spans && left_of;
    }
    return inside ? -std::sqrt(nearest_square) : std::sqrt(nearest_square);
  }

  std::array<Edge, 12> edges_;
  std::size_t edge_count_ = 0;
  bool is_ring_;
};

std::uint8_t* pixel(Image& out, int x, int y) {
  return out.pixels.data() + (static_cast<std::size_t>(y) * static_cast<std::size_t>(out.width) + x) * 3;
}

/// Paints over the image; edge pixels get a share by how much of them is covered, measured from their centre.
void draw(const Shape& shape, Image& out) {
  const UnitShape unit(shape.kind);
  const Box box = bounding_box(shape);
  const float cosine = std::cos(shape.angle) / shape.radius, sine = std::sin(shape.angle) / shape.radius;
  const auto within = [](float value, int end) {
    return static_cast<int>(std::clamp(value, 0.0f, static_cast<float>(end)));
  };
  const int x0 = within(std::floor(box.x0), out.width), x1 = within(std::ceil(box.x1), out.width);
  const int y0 = within(std::floor(box.y0), out.height), y1 = within(std::ceil(box.y1), out.height);
  for (int y = y0; y < y1; ++y)
    for (int x = x0; x < x1; ++x) {
      const float dx = static_cast<float>(x) + 0.5f - shape.x, dy = static_cast<float>(y) + 0.5f - shape.y;
      const Point turned_back{dx * cosine + dy * sine, dy * cosine - dx * sine};
      const float distance = unit.distance(turned_back) * shape.radius;
      const float cover = std::clamp(0.5f - distance, 0.0f, 1.0f);
      if (cover == 0) continue;
      std::uint8_t* rgb = pixel(out, x, y);
      for (int c = 0; c < 3; ++c) {
        const float mixed = static_cast<float>(rgb[c]) * (1 - cover) + shape.color[c] * 255 * cover;
        rgb[c] = static_cast<std::uint8_t>(mixed + 0.5f);
      }
    }
}

/// Adds uniform noise, a pure function of seed and pixel, which is cheaper than normal noise and as useful here.
void add_noise(const ShapeRecipe& recipe, Image& out) {
  if (recipe.noise == 0) return;
  const float reach = recipe.noise * std::sqrt(3.0f) * 255;  // ±reach has that standard deviation
  const std::size_t pixels = out.pixels.size() / 3;
  std::uint8_t* value = out.pixels.data();
  for (std::size_t i = 0; i < pixels; ++i) {
    std::uint64_t bits = mix64(recipe.noise_seed + i * 0x9e3779b97f4a7c15ULL);
    for (int c = 0; c < 3; ++c, ++value, bits >>= 20) {
      const float unit = static_cast<float>(bits & 0xfffff) * 0x1p-19f - 1;  // -1 … 1
      *value = static_cast<std::uint8_t>(std::clamp(static_cast<float>(*value) + unit * reach + 0.5f, 0.0f, 255.0f));
    }
  }
}

/// Returns whether a recipe's numbers can be drawn: its bytes may come from anywhere.
bool can_be_drawn(const ShapeRecipe& recipe) {
  const auto is_color = [](const std::array<float, 3>& color) {
    return std::ranges::all_of(color, [](float part) { return part >= 0 && part <= 1; });
  };
  if (recipe.count > ShapeRecipe::max_shapes || !is_color(recipe.background)) return false;
  if (!(recipe.noise >= 0 && recipe.noise <= 1)) return false;
  return std::all_of(recipe.shapes.begin(), recipe.shapes.begin() + recipe.count, [&](const Shape& shape) {
    return static_cast<std::size_t>(shape.kind) < shape_names.size() && std::isfinite(shape.x) &&
           std::isfinite(shape.y) && std::isfinite(shape.angle) && shape.radius > 0 && std::isfinite(shape.radius) &&
           is_color(shape.color);
  });
}

}  // namespace

Box bounding_box(const Shape& shape) {
  const auto corners = outline(shape.kind);
  Point low{-1, -1}, high{1, 1};
  if (!corners.empty()) {
    low = {1, 1}, high = {-1, -1};
    const float cosine = std::cos(shape.angle), sine = std::sin(shape.angle);
    for (const Point corner : corners) {
      const Point turned{corner.x * cosine - corner.y * sine, corner.x * sine + corner.y * cosine};
      low = {std::min(low.x, turned.x), std::min(low.y, turned.y)};
      high = {std::max(high.x, turned.x), std::max(high.y, turned.y)};
    }
  }
  return {shape.x + shape.radius * low.x, shape.y + shape.radius * low.y, shape.x + shape.radius * high.x,
          shape.y + shape.radius * high.y, static_cast<std::int32_t>(shape.kind)};
}

void draw_shapes(std::span<const std::byte> bytes, Image& out) {
  ShapeRecipe recipe;
  if (bytes.size() != sizeof recipe) throw SampleError("the record is not a recipe of shapes");
  std::memcpy(&recipe, bytes.data(), sizeof recipe);
  if (!can_be_drawn(recipe)) throw SampleError("a recipe of shapes cannot be drawn");
  out.reshape(static_cast<int>(recipe.size), static_cast<int>(recipe.size), 3);
  for (std::size_t i = 0; i < out.pixels.size(); ++i)
    out.pixels[i] = static_cast<std::uint8_t>(recipe.background[i % 3] * 255 + 0.5f);
  for (auto shape = recipe.count; shape > 0; --shape) draw(recipe.shapes[shape - 1], out);
  add_noise(recipe, out);
}

}  // namespace flowtrain
