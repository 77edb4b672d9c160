// The search for numbers that are not finite names the sample and layer to blame.

#include "stages/torch/diagnostics/nonfinite_search.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>

namespace flowtrain::nonfinite_search_test {

namespace {

const nets::NamedTensors parameters{
    {"first.weight", at::full({4, 3}, -2.)}, {"first.bias", at::ones({4})}, {"second.weight", at::ones({3, 4})}};

at::Tensor with_value(at::IntArrayRef shape, std::int64_t row, double value) {
  const at::Tensor tensor = at::zeros(shape);
  tensor[row].fill_(value);
  return tensor;
}

}  // namespace

TEST_CASE("tensors are looked through in their order, and tell rows where they have as many") {
  const nets::NamedTensors batch{{"label", at::zeros({5}, at::kLong)},
                                 {"image", with_value({5, 2, 2}, 3, std::nan(""))},
                                 {"other", with_value({5}, 0, INFINITY)}};
  const auto found = find_in(batch, "batch", 5);
  REQUIRE(found);
  CHECK(found->phase == "batch");
  CHECK(found->layer == "image");
  CHECK(found->nans == 4);
  CHECK(found->infinities == 0);
  CHECK(found->elements == 20);
  CHECK(found->rows == std::vector<std::size_t>{3});
  CHECK(find_in(batch, "parameters", 0)->rows.empty());
  CHECK_FALSE(find_in({{"label", at::zeros({5}, at::kLong)}, {"image", at::ones({5, 2})}}, "batch", 5));
}

TEST_CASE("what an operation made tells rows, unless it may be a parameter's gradient") {
  const auto origin = [](const std::string& scope, const at::Tensor& made) {
    return origin_of({"aten::mm", scope, "first", false, made}, parameters, 4);
  };
  CHECK(origin("net", with_value({4, 3}, 2, INFINITY)).rows == std::vector<std::size_t>{2});
  CHECK(origin("backward", with_value({4, 7}, 2, INFINITY)).rows == std::vector<std::size_t>{2});
  CHECK(origin("backward", with_value({4, 3}, 2, INFINITY)).rows.empty());
  CHECK(origin("backward", with_value({3, 4}, 2, INFINITY)).rows.empty());
  CHECK(origin("norm", with_value({4}, 2, INFINITY)).rows.empty());
  CHECK(origin("", with_value({4}, 2, INFINITY)).phase == "loss");
  CHECK(origin("net", with_value({4, 3}, 2, INFINITY)).largest_parameter == 2);
}

TEST_CASE("rows are tried alone where none stands out, and a part of them is believed") {
  const nets::NamedTensors batch{{"image", at::arange(4).view({4, 1})}, {"weight", at::ones({})}};
  const auto blamed = [&](std::vector<std::size_t> before, double limit) {
    NonFiniteOrigin origin;
    origin.rows = std::move(before);
    origin.rows_by = "the operation";
    blame_rows(
        batch, 4,
        [&](const nets::NamedTensors& row) {
          CHECK(row.at("image").sizes() == at::IntArrayRef({1, 1}));
          CHECK(row.at("weight").dim() == 0);
          return row.at("image").item<double>() >= limit;
        },
        origin);
    return origin;
  };
  CHECK(blamed({}, 2).rows == std::vector<std::size_t>{2, 3});
  CHECK(blamed({0, 1, 2, 3}, 3).rows == std::vector<std::size_t>{3});
  CHECK(blamed({0, 1, 2, 3}, 3).rows_by == "each row alone, in eval mode");
  CHECK(blamed({0, 1, 2, 3}, 0).rows_by == "the operation");
  CHECK(blamed({1}, 3).rows == std::vector<std::size_t>{1});
  CHECK(blamed({}, 9).rows.empty());
}

}  // namespace flowtrain::nonfinite_search_test
