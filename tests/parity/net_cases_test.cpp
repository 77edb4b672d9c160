// The public cases of the nets.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/parity/cases.h"
#include "tests/parity/name_numbers.h"
#include "tests/parity/state_dict.h"
#include "tests/support/skip.h"

using namespace flowtrain::parity;

namespace {

struct BlockCase {
  const char* name;
  const char* arguments;
};

const BlockCase block_cases[] = {
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

const char* const net_names[] = {"CornerNet", "CornerNet_Squeeze", "CornerNet_Saccade"};

std::set<std::string> case_names(const CaseFile& file) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : file.tensors()) names.insert(name.substr(0, name.find('.')));
  return names;
}

json strings_below(const NamedTensors& tensors, const std::string& prefix) {
  json names = json::array();
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) names.push_back(name.substr(prefix.size()));
  }
  return names;
}

NamedTensors run(const std::string& net, const std::string& mode, const NamedTensors& in, const json& arguments) {
  const Arguments set(arguments);
  auto out = run_net({net, mode, ""}, {in, set, at::kCPU});
  set.check_all_read();
  return out;
}

/// One map against what is stored of it: all or a part of its values, and means over its pixels.
void check_map(const at::Tensor& map, const Case& one, const std::string& name) {
  CAPTURE(name);
  const double pixels = static_cast<double>(map.size(2) * map.size(3));
  const at::Tensor wide = map.to(at::kDouble);
  const auto& expected = one.tensors;
  CHECK(difference(wide.sum({2, 3}) / pixels, expected.at(name + ".sum") / pixels, {.absolute = 2e-5}) == "");
  CHECK(difference((wide.square().sum({2, 3}) / pixels).sqrt(), (expected.at(name + ".sumsq") / pixels).sqrt(),
                   {.absolute = 2e-5}) == "");
  if (expected.contains(name + ".full")) {
    CHECK(difference(map, expected.at(name + ".full"), {.absolute = 1e-4}) == "");
  }
  if (!expected.contains(name + ".slice")) return;
  const at::Tensor slice = expected.at(name + ".slice");
  std::int64_t step = 1;
  while ((map.size(2) + step - 1) / step > slice.size(2)) ++step;
  const at::Tensor part = map.slice(1, 0, {}, 16).slice(2, 0, {}, step).slice(3, 0, {}, step);
  CHECK(difference(part, slice, {.absolute = 1e-4}) == "");
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

TEST_CASE("parity: corner pooling") {
  const auto folder = case_folder();
  SKIP_UNLESS(folder, "shared", kNoCases);
  const CaseFile file(*folder, "corner_pool");
  for (const std::string& name : case_names(file)) {
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

TEST_CASE("parity: blocks") {
  const auto folder = case_folder();
  SKIP_UNLESS(folder, "shared", kNoCases);
  const CaseFile file(*folder, "blocks");
  for (const auto& [name, arguments] : block_cases) {
    CAPTURE(name);
    const Case one = file.cut(name);
    NamedTensors in, expected;
    for (const auto& [key, tensor] : one.tensors) {
      const bool is_result = key.starts_with("train.") || key.starts_with("eval.");
      (is_result ? expected : in).set(key, tensor);
    }
    const auto out = call(net_ops(), "block", in, json::parse(arguments));
    CHECK(out.size() == expected.size());
    for (const auto& [key, tensor] : expected) {
      CAPTURE(key);
      CHECK(difference(out.at(key), tensor, block_tolerance(key)) == "");
    }
  }
}

TEST_CASE("parity: names") {
  const auto folder = case_folder();
  SKIP_UNLESS(folder, "shared", kNoCases);
  std::ifstream file(*folder + "/state_dict.json");
  const json expected = json::parse(file);
  for (const std::string net : net_names) {
    CAPTURE(net);
    std::ostringstream lines, wanted;
    print_names(net, lines);
    for (const json& entry : expected.at(net).at("state_dict")) wanted << entry.dump() << '\n';
    CHECK((lines.str() == wanted.str()));
  }
}

TEST_CASE("parity: whole nets in eval mode" * doctest::test_suite("nightly")) {
  const auto folder = case_folder();
  SKIP_UNLESS(folder, "shared", kNoCases);
  for (const std::string net : net_names) {
    CAPTURE(net);
    const CaseFile file(*folder, "forward_" + net);
    const std::string prefix = file.metadata().at("name_prefix");
    for (const std::string& name : case_names(file)) {
      if (name == "train") continue;
      CAPTURE(name);
      const Case one = file.cut(name);
      std::int64_t height = 0, width = 0;  // eval255 or eval255x383
      const int sides = std::sscanf(name.c_str(), "eval%ldx%ld", &height, &width);
      const auto image = uniform_of(prefix + name + ".input", {1, 3, height, sides == 2 ? width : height}, 2, 0);
      const auto out = run(net, "eval", {{"input", image}}, {{"name_prefix", prefix}});
      for (const auto& [map, values] : out) check_map(values, one, map);
    }
  }
}

TEST_CASE("parity: whole nets in train mode" * doctest::test_suite("nightly")) {
  const auto folder = case_folder();
  SKIP_UNLESS(folder, "shared", kNoCases);
  for (const std::string net : net_names) {
    CAPTURE(net);
    const CaseFile file(*folder, "forward_" + net);
    const std::string prefix = file.metadata().at("name_prefix");
    const Case one = file.cut("train");
    NamedTensors in = one.only({"heat_tl_u8", "heat_br_u8", "mask", "off_tl", "off_br", "ind_tl", "ind_br"});
    for (const char* name : {"valid_tl_u8", "valid_br_u8", "att0_u8", "att1_u8", "att2_u8"}) {
      if (one.tensors.contains(name)) in.set(name, one.tensors.at(name));
    }
    in.set("input", uniform_of(prefix + "train.input", {2, 3, 255, 255}, 2, 0));
    const at::Tensor losses = one.tensors.at("losses");
    const auto out = run(net, "train", in,
                         {{"name_prefix", prefix},
                          {"steps", losses.numel()},
                          {"lr", .00025},
                          {"grads", strings_below(one.tensors, "grad.")},
                          {"buffers", strings_below(one.tensors, "buffer.")}});

    CHECK(difference(out.at("losses")[0], losses[0], {.relative = 1e-4}) == "");
    CHECK(((out.at("losses") - losses).abs() <= losses.abs() * 1e-3).all().item<bool>());
    const at::Tensor sums = out.at("grad_sums"), expected = one.tensors.at("grad_sums");
    const at::Tensor scale = at::stack({expected.select(1, 1), expected.select(1, 1), expected.select(1, 2)}, 1);
    const at::Tensor errors = (sums - expected).abs() / scale;
    CHECK(errors.max().item<double>() <= .02);
    CHECK(errors.select(1, 2).median().item<double>() <= .005);
    const at::Tensor buffers = out.at("buffer_sums"), stored = one.tensors.at("buffer_sums");
    CHECK(((buffers - stored).abs() <= stored.select(1, 1).unsqueeze(1) * 1e-4).all().item<bool>());
    for (const auto& [name, tensor] : one.tensors) {
      CAPTURE(name);
      if (name.starts_with("buffer.")) {
        const bool counter = name.ends_with("num_batches_tracked");
        CHECK(difference(out.at(name), tensor, counter ? exact : Tolerance{.relative = 1e-4}) == "");
      }
      if (!name.starts_with("grad.")) continue;
      at::Tensor gradient = out.at(name);
      if (gradient.numel() > 20000) gradient = gradient.slice(0, 0, {}, 8).slice(1, 0, {}, 8);
      CHECK(difference(gradient, tensor, {.relative = name.starts_with("grad.hg.") ? .1 : .01}) == "");
    }
  }
}
