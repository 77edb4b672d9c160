// Operations of a forward pass, counted.

#include "nets/diagnostics/flop_count.h"

#include <ATen/ATen.h>
#undef CHECK
#include <doctest/doctest.h>

namespace flowtrain::flop_count_test {

using namespace flowtrain::nets;

namespace {

template <class Body>
double counted(const Body& body) {
  const FlopCount count;
  body();
  return count.flops();
}

at::Tensor ones(at::IntArrayRef shape) { return at::ones(shape); }

}  // namespace

TEST_CASE("matrix products count a multiplication and an addition for each pair") {
  CHECK(counted([] { at::mm(ones({3, 4}), ones({4, 5})); }) == 2 * 3 * 4 * 5);
  CHECK(counted([] { at::linear(ones({3, 4}), ones({5, 4}), ones({5})); }) == 2 * 3 * 4 * 5);
  CHECK(counted([] { at::linear(ones({2, 3, 4}), ones({5, 4}), ones({5})); }) == 2 * 2 * 3 * 4 * 5);
  CHECK(counted([] { at::matmul(ones({7, 3, 4}), ones({7, 4, 5})); }) == 2 * 7 * 3 * 4 * 5);
  CHECK(counted([] { at::baddbmm(ones({7, 3, 5}), ones({7, 3, 4}), ones({7, 4, 5})); }) == 2 * 7 * 3 * 4 * 5);
  CHECK(counted([] { at::relu(ones({3, 4})); }) == 0);
}

TEST_CASE("convolutions count each weight once for each value of the output") {
  const auto image = ones({2, 6, 8, 8});
  CHECK(counted([&] {
          at::conv2d(image, ones({10, 6, 3, 3}), {}, {1, 1}, {1, 1});
        }) == 2.0 * 2 * 10 * 8 * 8 * 6 * 3 * 3);
  CHECK(counted([&] {
          at::conv2d(image, ones({10, 6, 3, 3}), {}, {2, 2}, {1, 1});
        }) == 2.0 * 2 * 10 * 4 * 4 * 6 * 3 * 3);
  CHECK(counted([&] {
          at::conv2d(image, ones({6, 1, 3, 3}), {}, {1, 1}, {1, 1}, {1, 1}, 6);
        }) == 2.0 * 2 * 6 * 8 * 8 * 3 * 3);
  // Each value of the input meets all weights of its channel.
  CHECK(counted([&] {
          at::conv_transpose2d(image, ones({6, 10, 2, 2}), {}, {2, 2});
        }) == 2.0 * 2 * 6 * 8 * 8 * 10 * 2 * 2);
}

TEST_CASE("attention counts its two products, however it is computed") {
  const auto q = ones({2, 3, 5, 8}), k = ones({2, 3, 7, 8}), v = ones({2, 3, 7, 8});
  CHECK(counted([&] { at::scaled_dot_product_attention(q, k, v); }) == 2.0 * 2 * 3 * 5 * 7 * (8 + 8));
}

TEST_CASE("what came before does not count") {
  at::mm(ones({3, 4}), ones({4, 5}));
  const FlopCount count;
  CHECK(count.flops() == 0);
}

}  // namespace flowtrain::flop_count_test
