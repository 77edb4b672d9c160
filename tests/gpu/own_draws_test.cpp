// Draws of a thread beside training come from a generator of its own that was seeded alike.

#include "stages/torch/validation/own_draws.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "tests/gpu/test_device.h"

namespace flowtrain::own_draws_test {

using testing::test_device;

namespace {

constexpr std::uint64_t seed = 7;

/// By operators of all kinds: with a generator among their arguments, and made of such.
std::vector<at::Tensor> draw(at::Device device) {
  const auto there = at::device(device);
  const at::Tensor ones = at::ones({2, 3, 4, 4}, there), empty = at::empty({7}, there);
  return {at::rand({5}, there),
          at::randn({5}, there),
          at::randn({4}, there.dtype(at::kHalf)),
          at::rand_like(ones),
          at::randint(10, {4}, there),
          at::randperm(9, there),
          at::normal(0., 1., {3}, {}, there),
          at::normal(ones - 1, ones),
          empty.clone().normal_(),
          empty.clone().bernoulli_(0.3),
          empty.clone().exponential_(),
          at::bernoulli(ones / 2),
          at::multinomial(at::ones({10}, there), 3),
          at::poisson(ones),
          at::dropout(ones, 0.5, true),
          at::feature_dropout(ones, 0.5, true),
          at::alpha_dropout(ones, 0.5, true),
          std::get<0>(at::native_dropout(ones, 0.3, true)),
          std::get<1>(at::native_dropout(ones, 0.3, true)),
          at::rrelu(-ones, 0.1, 0.3, true)};
}

std::vector<at::Tensor> draw_on_all() {
  auto drawn = draw(at::kCPU);
  for (auto& more : draw(test_device())) drawn.push_back(more);
  return drawn;
}

bool are_equal(const std::vector<at::Tensor>& one, const std::vector<at::Tensor>& other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(), [](auto& a, auto& b) { return a.equal(b); });
}

std::vector<at::Tensor> states() {
  std::vector<at::Tensor> all;
  for (const at::Device device : {at::Device(at::kCPU), test_device()})
    all.push_back(at::globalContext().defaultGenerator(device).get_state());
  return all;
}

}  // namespace

TEST_CASE("within a scope a thread draws the numbers of the seed, and leaves the process's generators as they are") {
  torch::manual_seed(seed);
  const auto expected = draw_on_all();
  OwnDraws draws(test_device());
  torch::manual_seed(seed + 1);
  const auto untouched = states();
  for (int validation = 0; validation < 2; ++validation) {
    draws.seed(seed);
    std::vector<at::Tensor> drawn;
    {
      const OwnDraws::Scope scope(draws);
      drawn = draw_on_all();
    }
    CHECK(are_equal(drawn, expected));
  }
  CHECK(are_equal(states(), untouched));
  // A generator that is given stays.
  at::Generator given = at::detail::createCPUGenerator(seed);
  const OwnDraws::Scope scope(draws);
  CHECK(at::rand({5}, given).equal(expected.front()));
}

TEST_CASE("draws go on from scope to scope, with gradients and beside another thread that draws") {
  const at::Tensor ones = at::ones({50}, test_device()).requires_grad_();
  torch::manual_seed(seed);
  const at::Tensor first = at::rand_like(ones), second = at::dropout(ones, 0.5, true);
  OwnDraws draws(test_device());
  draws.seed(seed);
  torch::manual_seed(seed);
  {
    const OwnDraws::Scope scope(draws);
    CHECK(at::rand_like(ones).equal(first));
    std::thread([&] { CHECK(at::rand_like(ones).equal(first)); }).join();
    OwnDraws others(test_device());
    others.seed(seed);
    const OwnDraws::Scope inner(others);
    CHECK(at::rand_like(ones).equal(first));
  }
  CHECK(at::dropout(ones, 0.5, true).equal(second));  // the process's own go on, too
  const OwnDraws::Scope scope(draws);
  const at::Tensor drawn = at::dropout(ones, 0.5, true);
  CHECK(drawn.requires_grad());
  CHECK(drawn.equal(second));
}

}  // namespace flowtrain::own_draws_test
