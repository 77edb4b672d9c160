// Decoders take the outputs of nets.

#include "stages/torch/validation/ctc_prediction.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <stdexcept>

namespace flowtrain::ctc_prediction_test {

namespace {

const CtcDecoder& greedy() {
  static const Settings table("decode", {{"name", Kind::text, std::string("ctc_greedy"), ""}});
  static const CtcDecoder decoder(table, nullptr, -1);
  return decoder;
}

/// Logits (1, 3, T) whose greatest classes these are.
at::Tensor logits_of(const std::vector<std::int64_t>& classes) {
  return at::one_hot(at::tensor(classes, at::kLong), 3).to(at::kFloat).transpose(0, 1).unsqueeze(0) * 5;
}

}  // namespace

TEST_CASE("the predictions of a batch are as long as the longest one, and frames beyond a row's length do not count") {
  const at::Tensor logits = at::cat({logits_of({0, 2, 0, 1}), logits_of({1, 1, 2, 0}), logits_of({2, 2, 2, 2})});
  const auto all = [&](const nets::NamedTensors& more) {
    nets::NamedTensors outputs{{"logits", logits}};
    for (auto& [name, tensor] : more) outputs.add(name, tensor);
    return ctc_prediction(greedy(), outputs);
  };
  CHECK(at::equal(all({}), at::tensor({0, 0, 1, 1, 0, -1, -1, -1, -1}, at::kLong).view({3, 3})));
  CHECK(at::equal(all({{"logits_length", at::tensor({3, 2, 0}, at::kLong)}}),
                  at::tensor({0, 0, 1, -1, -1, -1}, at::kLong).view({3, 2})));
  CHECK(at::equal(ctc_prediction(greedy(), {{"logits", logits.slice(0, 2)}}), at::full({1, 1}, -1, at::kLong)));
  CHECK_THROWS_AS(all({{"logits_length", at::tensor({3, 2, 5}, at::kLong)}}), std::invalid_argument);
  CHECK_THROWS_AS(all({{"logits_length", at::tensor({3, 2}, at::kLong)}}), std::invalid_argument);
  CHECK_THROWS_WITH_AS(ctc_prediction(greedy(), {{"logits", at::zeros({2, 3})}}),
                       "it takes logits of shape (rows, classes, frames), and the net gives [2, 3] of Float",
                       std::invalid_argument);
}

}  // namespace flowtrain::ctc_prediction_test
