// The cases of whole nets: their entries, all heads in eval mode, and steps of training.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/parity/cases.h"
#include "tests/parity/name_numbers.h"

namespace flowtrain::whole_net_cases_test {

using namespace flowtrain::parity;

namespace {

const char* const net_names[] = {"CornerNet", "CornerNet_Squeeze", "CornerNet_Saccade"};

json strings_below(const NamedTensors& tensors, const std::string& prefix) {
  json names = json::array();
  for (const auto& [name, tensor] : tensors) {
    if (name.starts_with(prefix)) names.push_back(name.substr(prefix.size()));
  }
  return names;
}

NamedTensors run(const std::string& net, const std::string& mode, const NamedTensors& in, const json& arguments) {
  const Arguments set(arguments);
  const NamedTensors there = on_device(in, device_of_cases());
  const NamedTensors out = run_net({net, mode, ""}, {there, set, device_of_cases()});
  set.check_all_read();
  return on_device(out, at::kCPU);
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

/// A line of JSON for each of the net's entries.
std::string lines_of(const std::string& net) {
  std::ostringstream lines;
  print_names(net, lines);
  return lines.str();
}

/// The same in short: of each part of the net (the names' first two words) how many lines, and their hash.
json parts_of(const std::string& lines) {
  json parts = json::array();
  std::istringstream stream(lines);
  std::string line, part, text;
  int count = 0;
  const auto end_part = [&] {
    char hash[17];
    std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(name_hash(text)));
    if (count > 0) parts.push_back(json::array({part, count, hash}));
    text.clear();
    count = 0;
  };
  while (std::getline(stream, line)) {
    const auto name = json::parse(line).at(0).get<std::string>();
    const std::string its_part = name.substr(0, name.find('.', name.find('.') + 1));
    if (its_part != part) end_part();
    part = its_part;
    text += line + '\n';
    ++count;
  }
  end_part();
  return parts;
}

void names(const CaseSet& set) {
  std::ifstream file(set.folder + "/state_dict.json");
  const json expected = json::parse(file);
  for (const std::string net : net_names) {
    CAPTURE(net);
    const std::string lines = lines_of(net);
    if (!set.larger) {
      CHECK(parts_of(lines) == expected.at(net).at("parts"));
      continue;
    }
    std::string wanted;
    for (const json& entry : expected.at(net).at("state_dict")) wanted += entry.dump() + '\n';
    CHECK((lines == wanted));
  }
}

void evaluate(const CaseSet& set, const std::string& net) {
  const CaseFile file(set, "forward_" + net);
  const std::string prefix = file.metadata().at("name_prefix");
  int pictures = 0;
  for (const std::string& name : file.cases()) {
    if (name == "train") continue;
    CAPTURE(name);
    ++pictures;
    const Case one = file.cut(name);
    std::int64_t height = 0, width = 0;  // eval255 or eval255x383
    const int sides = std::sscanf(name.c_str(), "eval%ldx%ld", &height, &width);
    const auto image = uniform_of(prefix + name + ".input", {1, 3, height, sides == 2 ? width : height}, 2, 0);
    const auto out = run(net, "eval", {{"input", image}}, {{"name_prefix", prefix}});
    for (const auto& [map, values] : out) check_map(values, one, map);
    const auto is_sum = [](const auto& each) { return each.first.ends_with(".sum"); };
    CHECK(std::count_if(one.tensors.begin(), one.tensors.end(), is_sum) == static_cast<std::ptrdiff_t>(out.size()));
  }
  CHECK(pictures > 0);
}

void evaluate_cornernet(const CaseSet& set) { evaluate(set, "CornerNet"); }
void evaluate_squeeze(const CaseSet& set) { evaluate(set, "CornerNet_Squeeze"); }
void evaluate_saccade(const CaseSet& set) { evaluate(set, "CornerNet_Saccade"); }

void train(const CaseSet& set, const std::string& net) {
  const CaseFile file(set, "forward_" + net);
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

void train_cornernet(const CaseSet& set) { train(set, "CornerNet"); }
void train_squeeze(const CaseSet& set) { train(set, "CornerNet_Squeeze"); }
void train_saccade(const CaseSet& set) { train(set, "CornerNet_Saccade"); }

}  // namespace

PARITY_TEST("names", names)
TEST_CASE("parity: CornerNet in eval mode") { evaluate_cornernet(small_set()); }
TEST_CASE("parity: Squeeze in eval mode") { evaluate_squeeze(small_set()); }
TEST_CASE("parity: Saccade in eval mode") { evaluate_saccade(small_set()); }
LARGER_PARITY_TEST("CornerNet in eval mode" * doctest::test_suite("nightly"), evaluate_cornernet)
LARGER_PARITY_TEST("Squeeze in eval mode" * doctest::test_suite("nightly"), evaluate_squeeze)
LARGER_PARITY_TEST("Saccade in eval mode" * doctest::test_suite("nightly"), evaluate_saccade)
LARGER_PARITY_TEST("CornerNet in train mode" * doctest::test_suite("nightly"), train_cornernet)
LARGER_PARITY_TEST("Squeeze in train mode" * doctest::test_suite("nightly"), train_squeeze)
LARGER_PARITY_TEST("Saccade in train mode" * doctest::test_suite("nightly"), train_saccade)

}  // namespace flowtrain::whole_net_cases_test
