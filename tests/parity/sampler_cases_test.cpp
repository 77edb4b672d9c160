// The cases of the samplers, their Gaussians and radii.

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "tests/parity/cases.h"

namespace flowtrain::parity::sampler_cases_test {
namespace {

constexpr Tolerance one_level{.absolute = 1}, heat{.absolute = 1e-6}, offset{.absolute = 1e-5},
    colours{.absolute = 1e-5}, normalised{.relative = 1e-5, .floor = 1};

void check_equal(const NamedTensors& got, const Case& expected, const std::string& name, const Tolerance& tolerance) {
  INFO(expected.name << " " << name);
  CHECK(difference(got.at(name), expected.tensors.at(name), tolerance) == "");
}

void check_from_picture(const std::string& sampler, const json& draws, const Case& one) {
  const auto out = run_sample(sampler, draws, one.only({"image_bgr", "boxes"}));
  check_equal(out, one, "u8_hwc", one_level);
  const auto apart = out.at("u8_hwc").ne(one.tensors.at("u8_hwc")).sum().item<std::int64_t>();
  CHECK_MESSAGE(apart == 0, one.name << ": pixels that differ by a level");
  for (const char* name : {"tl_heat", "br_heat"}) check_equal(out, one, name, heat);
  for (const char* name : {"tl_off", "br_off"}) check_equal(out, one, name, offset);
  for (const char* name : {"mask", "tl_ind", "br_ind"}) check_equal(out, one, name, exact);
  if (sampler == "cornernet_saccade")
    for (const char* name : {"tl_valid", "br_valid", "att0", "att1", "att2"}) check_equal(out, one, name, exact);
}

void check_from_pixels(const std::string& sampler, const json& draws, const Case& one) {
  const auto out = run_sample(sampler, draws, one.only({"image_bgr", "boxes", "u8_hwc"}));
  for (const char* name : {"after_jitter", "after_lighting"}) {
    INFO(one.name << " " << name);
    const auto every_fourth = out.at(name).slice(0, 0, {}, 4).slice(1, 0, {}, 4);
    CHECK(difference(every_fourth, one.tensors.at(name), colours) == "");
  }
  check_equal(out, one, "image", normalised);
  check_equal(out, one, "tl_ind", exact);
}

NamedTensors blank_picture() {
  return {{"image_bgr", at::zeros({200, 260, 3}, at::kByte)}, {"boxes", at::zeros({0, 5})}};
}

std::string bad_call(const std::string& sampler, const json& draws) {
  try {
    run_sample(sampler, draws, blank_picture());
  } catch (const BadCall& error) {
    return error.what();
  }
  return "nothing thrown";
}

/// Draws for blank_picture().
const json blank_draws = json::parse(R"({"config": {"rand_scales": [1], "input_size": [127, 127], "categories": 2,
    "output_sizes": [[32, 32]], "rand_crop": true, "rand_color": true, "test_scales": [1]}, "draws": [
    ["choice", [], {}, 1.0], ["randint", [], {}, 130], ["randint", [], {}, 100], ["uniform", [], {}, 0.2],
    ["shuffle", [], {}, ["contrast", "brightness", "saturation"]], ["data.uniform", [], {}, 0.1],
    ["data.uniform", [], {}, 0.1], ["data.uniform", [], {}, 0.1], ["data.normal", [], {}, [0.1, 0.1, 0.1]]]})");

void samples(const CaseSet& set) {
  const CaseFile file(set, "sampler");
  std::ifstream draws_file(set.folder + "/sampler_draws.json");
  const json draws = json::parse(draws_file);
  std::size_t count = 0;
  for (auto& [name, all] : draws.items()) {
    const std::string sampler = name == "saccade" ? "cornernet_saccade" : "cornernet";
    for (std::size_t i = 0; i < all["samples"].size(); ++i, ++count) {
      const Case one = file.cut(name + "." + std::to_string(i));
      const json given{{"config", all["config"]}, {"draws", all["samples"][i]}};
      check_from_picture(sampler, given, one);
      check_from_pixels(sampler, given, one);
    }
  }
  set.check_count(count, 8, 14);
}

void gaussians(const CaseSet& set) {
  const CaseFile file(set, "gaussian");
  std::size_t kernels = 0, drawings = 0;
  for (auto& [name, expected] : file.tensors()) {
    INFO(name);
    if (name.starts_with("kernel.r")) {
      const auto out = call(sampler_ops(), "gaussian_kernel", {}, {{"radius", std::stoi(name.substr(8))}});
      CHECK(difference(out.at("kernel"), expected, {.absolute = 1e-9}) == "");
      ++kernels;
    } else if (name.ends_with(".calls")) {
      const Case one = file.cut(name.substr(0, name.size() - 6));
      const auto& map = one.tensors.at("heat");
      const auto out =
          call(sampler_ops(), "draw_gaussian", one.only({"calls"}), {{"height", map.size(0)}, {"width", map.size(1)}});
      CHECK(difference(out.at("heat"), map, heat) == "");
      ++drawings;
    }
  }
  set.check_count(kernels, 4, 7);
  set.check_count(drawings, 6, 7);
}

void gaussian_radii(const CaseSet& set) {
  std::ifstream expected(set.folder + "/gaussian_radius.csv");
  std::stringstream in;
  std::vector<std::pair<double, int>> radii;
  std::string line;
  for (int row = 0; std::getline(expected, line); ++row) {
    const auto whole = line.rfind(','), real = line.rfind(',', whole - 1);
    in << line.substr(0, real) << '\n';
    if (row > 0) radii.emplace_back(std::stod(line.substr(real + 1)), std::stoi(line.substr(whole + 1)));
  }
  set.check_count(radii.size(), 30, 272);
  std::stringstream out;
  run_radius(in, out);
  std::getline(out, line);
  CHECK(line == "height,width,min_overlap,radius_double,radius_int");
  for (const auto& [real, whole] : radii) {
    REQUIRE(std::getline(out, line));
    INFO(line);
    const auto last = line.rfind(','), before = line.rfind(',', last - 1);
    CHECK(std::abs(std::stod(line.substr(before + 1)) - real) <= 1e-9);
    CHECK(std::stoi(line.substr(last + 1)) == whole);
  }
  CHECK_FALSE(std::getline(out, line));
}

}  // namespace

PARITY_TEST("samples with given draws", samples)
PARITY_TEST("Gaussians", gaussians)
PARITY_TEST("Gaussian radii", gaussian_radii)

TEST_CASE("parity: draws that do not fit are refused") {
  CHECK(bad_call("cornernet", blank_draws) == "nothing thrown");
  CHECK(bad_call("cornernet_saccade", blank_draws).starts_with("draw 2, [\"randint\""));  // its scale is drawn first
  CHECK(bad_call("cornerness", blank_draws) == "--sampler cornerness: expected cornernet or cornernet_saccade");

  json draws = blank_draws;
  draws["draws"].erase(8);
  CHECK(bad_call("cornernet", draws) == "the draws end where a 'data.normal' is needed");
  draws = blank_draws;
  draws["draws"].push_back({"uniform", json::array(), json::object(), 0.5});
  CHECK(bad_call("cornernet", draws) == "1 draws are left over, from [\"uniform\",[],{},0.5] on");
  draws = blank_draws;
  draws["draws"][1][3] = 230;
  CHECK(bad_call("cornernet", draws) == "draw 2, [\"randint\",[],{},230]: outside 64..195");
  draws = blank_draws;
  draws["config"]["rand_colour"] = true;
  CHECK(bad_call("cornernet", draws) == "unknown argument: --set rand_colour");
  CHECK_THROWS_AS(call(sampler_ops(), "gaussian_kernel", {}, {{"radius", -1}}), BadCall);
}

TEST_CASE("parity: radii of a damaged table") {
  const std::string head = "height,width,min_overlap\n";
  for (const auto& text : {std::string(), "1,2,0.5\n" + head, head + "1,2\n", head + "1,2,x\n", head + "1,2,0.5,3\n"}) {
    std::stringstream in(text), out;
    CHECK_THROWS_AS(run_radius(in, out), BadCall);
  }
}

}  // namespace flowtrain::parity::sampler_cases_test
