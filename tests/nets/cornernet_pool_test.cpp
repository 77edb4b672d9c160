#include "nets/cornernet/corner_pool.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <doctest/doctest.h>

#include <array>
#include <limits>

namespace flowtrain::cornernet_pool_test {

using namespace flowtrain::nets;

namespace {

constexpr std::array directions{CornerPool::top, CornerPool::bottom, CornerPool::left, CornerPool::right};

struct Result {
  at::Tensor y, gx;
};

/// The definition, cell by cell, in double.
Result by_definition(const at::Tensor& x, const at::Tensor& g, CornerPool direction) {
  const bool rows = direction == CornerPool::top || direction == CornerPool::bottom;
  const bool backwards = direction == CornerPool::top || direction == CornerPool::left;
  const auto lines_of = [&](const at::Tensor& t) {
    const at::Tensor lines = (rows ? t.transpose(2, 3) : t).to(at::kDouble).contiguous();
    return (backwards ? lines.flip(3) : lines).contiguous();
  };
  const at::Tensor values = lines_of(x), gradients = lines_of(g);
  at::Tensor y = at::zeros_like(values), gx = at::zeros_like(values);
  const std::int64_t length = values.size(3);
  for (std::int64_t start = 0; start < values.numel(); start += length) {
    std::int64_t best = start;
    for (std::int64_t i = start; i < start + length; ++i) {
      if (values.data_ptr<double>()[i] > values.data_ptr<double>()[best]) best = i;
      y.data_ptr<double>()[i] = values.data_ptr<double>()[best];
      gx.data_ptr<double>()[best] += gradients.data_ptr<double>()[i];
    }
  }
  const auto back = [&](at::Tensor t) {
    if (backwards) t = t.flip(3);
    return (rows ? t.transpose(2, 3) : t).contiguous();
  };
  return {back(y), back(gx)};
}

Result pooled(const at::Tensor& x, const at::Tensor& g, CornerPool direction) {
  const at::Tensor leaf = x.detach().clone().requires_grad_();
  const at::Tensor y = corner_pool(leaf, direction);
  y.backward(g);
  return {y.detach(), leaf.grad()};
}

/// Post-ReLU numbers: ties at 0 are the normal case. Eighths, so that half precision holds them exactly.
at::Tensor picture(at::IntArrayRef sizes) { return (at::randn(sizes) * 8).round().clamp_min(0) / 8; }

}  // namespace

TEST_CASE("corner pooling: values and gradients by the definition, in every type and layout") {
  at::manual_seed(1);
  for (const auto& sizes : {std::vector<std::int64_t>{2, 3, 5, 7},
                            {1, 1, 1, 1},
                            {1, 2, 1, 9},
                            {1, 300, 3, 2},
                            {2, 1, 33, 300},
                            {3, 40, 8, 8}}) {
    const at::Tensor x = picture(sizes), g = at::randint(-4, 5, sizes).to(at::kFloat);
    for (const CornerPool direction : directions) {
      const Result expected = by_definition(x, g, direction);
      for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
        for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
          CAPTURE(c10::str(x.sizes(), " direction ", static_cast<int>(direction), " ", type, " ", format));
          const Result got = pooled(x.to(type).contiguous(format), g.to(type), direction);
          CHECK((got.y.scalar_type() == type));
          CHECK(got.y.is_contiguous(format));
          CHECK(at::equal(got.y.to(at::kDouble), expected.y));
          CHECK(at::equal(got.gx.to(at::kDouble), expected.gx));
        }
      }
    }
  }
}

TEST_CASE("corner pooling: the gradient is that of finite differences") {
  at::manual_seed(2);
  // A permutation of whole numbers: no ties within reach of the step.
  const at::Tensor x = at::randperm(2 * 3 * 4 * 5, at::kDouble).view({2, 3, 4, 5});
  const at::Tensor g = at::randn({2, 3, 4, 5}, at::kDouble);
  for (const CornerPool direction : directions) {
    const at::Tensor gx = pooled(x, g, direction).gx.flatten();
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const double step = 1e-3;
      const auto value = [&](double by) {
        at::Tensor moved = x.clone();
        moved.flatten()[i] += by;
        return (corner_pool(moved, direction) * g).sum().item<double>();
      };
      CHECK(gx[i].item<double>() == doctest::Approx((value(step) - value(-step)) / (2 * step)));
    }
  }
}

TEST_CASE("corner pooling: among equals the gradient goes to the first met") {
  const at::Tensor x = at::full({1, 1, 1, 4}, 2.f), g = at::ones({1, 1, 1, 4});
  CHECK(at::equal(pooled(x, g, CornerPool::left).gx.flatten(), at::tensor({0.f, 0.f, 0.f, 4.f})));
  CHECK(at::equal(pooled(x, g, CornerPool::right).gx.flatten(), at::tensor({4.f, 0.f, 0.f, 0.f})));
}

TEST_CASE("corner pooling: NaN spreads, an infinity is a number, views and empty maps will do") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const at::Tensor x = at::tensor({-infinity, 1.f, nan, infinity}).view({1, 1, 1, 4});
  const at::Tensor y = corner_pool(x, CornerPool::right).flatten();
  CHECK(y[0].item<float>() == -infinity);
  CHECK(y[1].item<float>() == 1);
  CHECK(y.isnan().slice(0, 2).all().item<bool>());

  const at::Tensor wide = picture({2, 3, 6, 8});
  const at::Tensor part = wide.slice(3, 1, 7).transpose(2, 3);
  CHECK(at::equal(corner_pool(part, CornerPool::top), corner_pool(part.contiguous(), CornerPool::top)));
  CHECK(corner_pool(at::empty({0, 3, 4, 4}), CornerPool::top).numel() == 0);
  CHECK(corner_pool(at::empty({2, 3, 0, 4}), CornerPool::left).numel() == 0);
}

TEST_CASE("corner pooling: the number of threads changes nothing") {
  at::manual_seed(3);
  const at::Tensor x = picture({2, 16, 64, 64}), g = at::randn({2, 16, 64, 64});
  const int threads = at::get_num_threads();
  for (const CornerPool direction : directions) {
    at::set_num_threads(1);
    const Result one = pooled(x, g, direction);
    at::set_num_threads(4);
    const Result four = pooled(x, g, direction);
    CHECK(at::equal(one.y, four.y));
    CHECK(at::equal(one.gx, four.gx));
  }
  at::set_num_threads(threads);
}

TEST_CASE("corner pooling: a map that is written past the caches is that of its pictures one by one") {
  at::manual_seed(4);
  for (const auto& sizes : {std::vector<std::int64_t>{2, 136, 128, 128}, {2, 70, 124, 252}}) {
    const at::Tensor x = picture(sizes), g = at::randint(-4, 5, sizes).to(at::kFloat);
    for (const CornerPool direction : directions) {
      for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
        const Result whole = pooled(x.contiguous(format), g, direction);
        for (std::int64_t i = 0; i < 2; ++i) {
          const Result part = pooled(x.narrow(0, i, 1).contiguous(format), g.narrow(0, i, 1), direction);
          CHECK(at::equal(whole.y.narrow(0, i, 1), part.y));
          CHECK(at::equal(whole.gx.narrow(0, i, 1), part.gx));
        }
      }
    }
  }
}

TEST_CASE("corner pooling: other shapes and types are refused") {
  CHECK_THROWS_WITH_AS(corner_pool(at::zeros({2, 3, 4}), CornerPool::top),
                       "corner_pool: Float of shape [2, 3, 4], expected (B, C, H, W) of float, double, half or "
                       "bfloat16",
                       std::invalid_argument);
  CHECK_THROWS_AS(corner_pool(at::zeros({1, 2, 3, 4}, at::kLong), CornerPool::top), std::invalid_argument);
}

}  // namespace flowtrain::cornernet_pool_test
