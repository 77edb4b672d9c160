// The cases of corner pooling and of the blocks that nets are built of; the numbers and weights that cases are made of.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "tests/parity/cases.h"
#include "tests/parity/name_numbers.h"
#include "tests/parity/state_dict.h"

namespace flowtrain::net_cases_test {

using namespace flowtrain::parity;

namespace {

/// The arguments of the larger set's blocks; those of the small set stand in its metadata.
const std::map<std::string, const char*> larger_blocks{
    {"conv7s2", R"({"kind":"convolution","k":7,"inp":3,"out":8,"stride":2})"},
    {"conv3", R"({"kind":"convolution","k":3,"inp":6,"out":5})"},
    {"conv1_nobn", R"({"kind":"convolution","k":1,"inp":6,"out":5,"bn":false})"},
    {"conv3_nobn", R"({"kind":"convolution","k":3,"inp":4,"out":5,"bn":false})"},
    {"res_same", R"({"kind":"residual","inp":6,"out":6})"},
    {"res_widen", R"({"kind":"residual","inp":6,"out":10})"},
    {"res_stride2", R"({"kind":"residual","inp":6,"out":6,"stride":2})"},
    {"res_stride2_widen", R"({"kind":"residual","inp":6,"out":10,"stride":2})"},
    {"fire_same", R"({"kind":"fire","inp":8,"out":8})"},
    {"fire_widen", R"({"kind":"fire","inp":8,"out":12})"},
    {"fire_stride2", R"({"kind":"fire","inp":8,"out":12,"stride":2})"},
    {"fire_stride2_same", R"({"kind":"fire","inp":8,"out":8,"stride":2})"},
    {"unpool_transpose", R"({"kind":"unpool_transpose","dim":6})"},
    {"unpool_nearest", R"({"kind":"unpool_nearest","dim":3})"},
    {"pred_like", R"({"kind":"head","k":3,"inp":6,"mid":6,"out":4})"},
    {"merge_like", R"({"kind":"merge","dim":6})"},
    {"corner_tl", R"({"kind":"corner_pool_tl","dim":8})"},
    {"corner_br", R"({"kind":"corner_pool_br","dim":8})"},
    {"hg_residual", R"({"kind":"hourglass","family":"CornerNet","n":2,"dims":[6,8,10],"modules":[2,1,3]})"},
    {"hg_fire", R"({"kind":"hourglass","family":"CornerNet_Squeeze","n":2,"dims":[8,8,12],"modules":[2,1,3]})"},
    {"hg_saccade", R"({"kind":"hourglass","family":"CornerNet_Saccade","n":3,"dims":[6,8,8,10],"modules":[1,1,1,1]})"},
    {"stack_hg",
     R"({"kind":"stack","family":"CornerNet","stacks":2,"n":2,"dims":[6,8,10],"modules":[1,1,1],"pre":[4,6]})"},
    {"stack_saccade",
     R"({"kind":"stack","family":"CornerNet_Saccade","stacks":2,"n":2,"dims":[6,8,10],"modules":[1,1,1],"pre":[4,6]})"},
};

Tolerance block_tolerance(const std::string& output) {
  if (output.ends_with("num_batches_tracked")) return exact;
  if (output.starts_with("train.sd.")) return {.absolute = 1e-5};
  if (output.starts_with("train.g")) return {.relative = 1e-4, .floor = .1};
  return {.relative = 1e-5, .floor = 1};
}

void corner_pooling(const CaseSet& set) {
  const CaseFile file(set, "corner_pool");
  set.check_count(file.cases().size(), 11, 11);
  for (const std::string& name : file.cases()) {
    CAPTURE(name);
    const Case one = file.cut(name);
    for (const std::string direction : {"top", "bottom", "left", "right"}) {
      CAPTURE(direction);
      const auto out = call(net_ops(), "corner_pool", one.only({"x", "g"}), {{"direction", direction}});
      CHECK(difference(out.at("y"), one.tensors.at(direction + ".y"), exact) == "");
      CHECK(difference(out.at("gx"), one.tensors.at(direction + ".gx"), {.relative = 1e-5, .floor = 1}) == "");
    }
  }
}

void blocks(const CaseSet& set) {
  const CaseFile file(set, "blocks");
  set.check_count(file.cases().size(), 21, 23);
  for (const std::string& name : file.cases()) {
    CAPTURE(name);
    const Case one = file.cut(name);
    NamedTensors in, expected;
    for (const auto& [key, tensor] : one.tensors) {
      const bool is_result = key.starts_with("train.") || key.starts_with("eval.");
      (is_result ? expected : in).set(key, tensor);
    }
    const json arguments = set.larger ? json::parse(larger_blocks.at(name)) : one.arguments;
    const auto out = call(net_ops(), "block", in, arguments);
    CHECK(out.size() == expected.size());
    for (const auto& [key, tensor] : expected) {
      CAPTURE(key);
      CHECK(difference(out.at(key), tensor, block_tolerance(key)) == "");
    }
  }
}

}  // namespace

TEST_CASE("numbers from names") {
  const auto out = call(net_ops(), "numbers", {}, {{"name", "input"}, {"count", 3}, {"scale", 2}, {"shift", .5}});
  CHECK(out.at("hash").item<std::int64_t>() == 0x1ebbae8f5810b65b);
  CHECK(at::equal(out.at("z40"), at::tensor({1641119, 10944791, 3416248}, at::kLong)));
  CHECK(out.at("value")[0].item<float>() == static_cast<float>(.5 + (2 * 1641119 / 16777216. - 1) * 2));
  const auto weights = uniform_of("hg.pre.0.conv.weight", {3}, std::sqrt(3. / 147), 0);
  CHECK(at::equal(weights.view(at::kInt), at::tensor({1033748258L, 1025466359L, 3186170978L}, at::kLong).to(at::kInt)));
}

TEST_CASE("weights: module. may stand before the names, counters may be missing, nothing else may differ") {
  const at::Tensor weight = at::zeros({2}), counter = at::ones({}, at::kLong);
  const auto entries = state_dict({{"bn.weight", weight}}, {{"bn.num_batches_tracked", counter}});
  load(entries, {{"module.bn.weight", at::full({2}, 3.f)}});
  CHECK(at::equal(weight, at::full({2}, 3.f)));
  CHECK(counter.item<std::int64_t>() == 0);
  load(entries, {{"bn.weight", weight}, {"bn.num_batches_tracked", at::full({}, 7, at::kLong)}});
  CHECK(counter.item<std::int64_t>() == 7);

  CHECK_THROWS_WITH_AS(load(entries, {}), "weights: bn.weight is missing", BadCall);
  CHECK_THROWS_WITH_AS(load(entries, {{"bn.weight", weight}, {"bn.scale", weight}}),
                       "weights: bn.scale is none of the net's entries", BadCall);
  CHECK_THROWS_WITH_AS(load(entries, {{"bn.weight", weight}, {"module.bn.weight", weight}}),
                       "weights: bn.weight is there with and without module.", BadCall);
  CHECK_THROWS_WITH_AS(load(entries, {{"bn.weight", at::zeros({3})}}),
                       doctest::Contains("tensor bn.weight is Float [3]"), BadCall);
}

PARITY_TEST("corner pooling", corner_pooling)
PARITY_TEST("blocks", blocks)

}  // namespace flowtrain::net_cases_test
