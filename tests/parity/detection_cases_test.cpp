#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include "tests/parity/cases.h"

namespace flowtrain::detection_cases_test {

using namespace flowtrain::parity;

namespace {

void check_same(const std::string& what, const at::Tensor& got, const at::Tensor& expected,
                const Tolerance& tolerance) {
  INFO(what);
  CHECK(difference(got, expected, tolerance) == "");
}

/// Boxes (n, columns) with scores in column 4: coordinates and scores have tolerances of their own.
void check_boxes(const std::string& what, const at::Tensor& got, const at::Tensor& expected, double score_tolerance) {
  REQUIRE_MESSAGE(got.sizes() == expected.sizes(),
                  what << ": " << got.size(0) << " rows, expected " << expected.size(0));
  check_same(what, got.narrow(1, 0, 4), expected.narrow(1, 0, 4), {.absolute = 1e-3});
  const auto scores = expected.size(1) - 4;
  check_same(what, got.narrow(1, 4, scores), expected.narrow(1, 4, scores), {.absolute = score_tolerance});
}

/// Images for the net: all pixels, or what is stored of them: some rows, and the sums of the channels.
void check_net_input(const Case& one, const std::string& name, const at::Tensor& images, const Tolerance& of_pixels,
                     const Tolerance& of_means) {
  const std::string what = one.name + " " + name;
  if (one.tensors.contains(name)) return check_same(what, images, one.tensors.at(name), of_pixels);
  check_same(what, images.slice(2, 0, {}, 64).slice(3, 0, {}, 8), one.tensors.at(name + "_rows"), of_pixels);
  const auto pixels = static_cast<double>(images.size(2) * images.size(3));
  check_same("means of " + what, images.to(at::kDouble).mean({2, 3}), one.tensors.at(name + "_sum") / pixels, of_means);
}

/// `defaults`, and over them what stands in the metadata under `config`, except `without`.
json config_of(const CaseFile& file, json defaults, const std::vector<std::string>& without) {
  const json stored = json::parse(file.metadata().at("config"));
  for (const auto& [key, value] : stored.items())
    if (!value.is_null() && std::find(without.begin(), without.end(), key) == without.end()) defaults[key] = value;
  return defaults;
}

void decoding(const CaseSet& set) {
  const CaseFile file(set, "decode");
  set.check_count(file.cases().size(), 4, 4);
  for (const std::string& name : file.cases()) {
    const Case one = file.cut(name);
    const NamedTensors got = call(detection_ops(), "decode", one.tensors, one.arguments);
    const at::Tensor valid = one.tensors.at("n_valid");
    check_same(name, got.at("n_valid"), valid, exact);
    const at::Tensor rows = got.at("detections"), expected = one.tensors.at("detections");
    REQUIRE(rows.sizes() == expected.sizes());
    for (std::int64_t b = 0; b < valid.size(0); ++b) {
      const auto count = valid[b].item<std::int64_t>();
      check_same(name, rows[b].narrow(0, 0, count), expected[b].narrow(0, 0, count), {.absolute = 1e-5});
      CHECK(rows[b].slice(0, count).select(1, 4).eq(-1).all().item<bool>());
    }
  }
}

void soft_nms(const CaseSet& set) {
  const CaseFile file(set, "nms");
  const std::vector<std::pair<std::string, json>> variants{
      {"hard", {{"method", "hard"}}},
      {"linear", {{"method", "linear"}}},
      {"exp", {{"method", "exp"}}},
      {"exp_s07", {{"method", "exp"}, {"sigma", 0.7}}},
      {"merge8", {{"method", "exp"}, {"merge", true}, {"weight_exp", 8}}},
      {"merge10", {{"method", "exp"}, {"merge", true}, {"weight_exp", 10}}}};
  set.check_count(file.cases().size(), 6, 6);
  for (const std::string& name : file.cases()) {
    const Case one = file.cut(name);
    for (const auto& [variant, arguments] : variants) {
      const std::string what = name + "." + variant;
      // The input alone is called `in`, which cut() leaves as it is.
      const NamedTensors got = call(detection_ops(), "soft_nms", one.only({"in"}), arguments);
      check_same(what, got.at("kept"), one.tensors.at(variant + ".kept"), exact);
      check_same(what, got.at("out"), one.tensors.at(variant + ".out"), {.relative = 1e-4, .floor = 1});
    }
  }
}

void post_processing(const CaseSet& set) {
  const CaseFile file(set, "postproc");
  set.check_count(file.cases().size(), 4, 3);
  for (const std::string& name : file.cases()) {
    const Case one = file.cut(name);
    const NamedTensors got = call(detection_ops(), "postproc", one.tensors, one.arguments);
    const auto scales = one.arguments.at("test_scales").get<std::vector<double>>();
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const std::string input = "scale" + std::to_string(i) + ".net_input";
      const Tolerance tolerance{.absolute = scales[i] == 1 ? 1e-5 : 0.02};
      check_net_input(one, input, got.at(input), tolerance, tolerance);
    }
    for (int j = 1; j <= one.arguments.at("categories").get<int>(); ++j) {
      const std::string of_class = "class" + std::to_string(j);
      for (const auto& [step, tolerance] : {std::pair{".before_nms", 1e-5}, std::pair{".out", 1e-4}})
        check_boxes(name + " " + of_class + step, got.at(of_class + step), one.tensors.at(of_class + step), tolerance);
    }
  }
}

void steps_of_search(const CaseSet& set) {
  const CaseFile file(set, "saccade_test");
  const Tolerance close{.absolute = 1e-4};
  const auto run = [&](const std::string& op, const NamedTensors& in, const json& arguments) {
    return call(detection_ops(), op, in, arguments);
  };
  set.check_count(file.cases("location_nms.", 2).size(), 3, 3);
  for (const std::string& name : file.cases("location_nms.", 2)) {
    const Case one = file.cut(name);
    check_same(name, run("location_nms", one.only({"in"}), {{"thresh", 16}}).at("out"), one.tensors.at("out"), close);
  }
  const Case reference = file.cut("get_ref_locs");
  check_same("get_ref_locs", run("get_ref_locs", reference.only({"in"}), {}).at("out"), reference.tensors.at("out"),
             close);

  const Case peaks = file.cut("att_nms");
  const NamedTensors left = run("att_nms", peaks.only({"in0", "in1", "in2"}), {{"kernels", {3, 3, 3}}});
  for (const std::string out : {"out0", "out1", "out2"})
    check_same("att_nms " + out, left.at(out), peaks.tensors.at(out), exact);

  const Case attention = file.cut("decode_atts");
  NamedTensors maps = attention.only({"scales", "offsets"});
  for (const std::string i : {"0", "1", "2"}) maps.set("att" + i, peaks.tensors.at("out" + i));
  for (const auto& [out, same] : {std::pair{"out_h200_w300_t0.3", false}, std::pair{"out_ignore_same", true}}) {
    const json arguments{{"height", 200},           {"width", 300},
                         {"thresh", 0.3},           {"ignore_same", same},
                         {"att_scales", {1, 2, 4}}, {"att_ratios", {16, 8, 4}}};
    check_same(out, run("decode_atts", maps, arguments).at("out"), attention.tensors.at(out), close);
  }

  const Case prepare = file.cut("prepare");
  json input_size{{"input_size", {255, 255}}};
  input_size.update(prepare.arguments);
  const NamedTensors crops = run("saccade_prepare", prepare.only({"image", "locations"}), input_size);
  for (const auto& [name, crop] : crops) check_same("prepare " + name, crop, prepare.tensors.at(name), close);
  CHECK(crops.size() == static_cast<std::size_t>(prepare.tensors.at("locations").size(0)) + 1);

  const Case remap = file.cut("remap");
  json sizes{{"input_size", {255, 255}}};
  sizes["output_sizes"] = json::array({json::array({64, 64})});
  const NamedTensors boxes = run("saccade_remap", remap.only({"in", "scales", "offsets"}), sizes);
  for (const auto& [name, box] : boxes) check_same("remap " + name, box, remap.tensors.at(name), {.absolute = 1e-3});
}

void whole_search(const CaseSet& set) {
  const CaseFile file(set, "saccade_test");
  json defaults{{"init_sizes", {192, 255}}, {"att_ratios", {16, 8, 4}}, {"att_nms_ks", {3, 3, 3}},
                {"ref_dets", true},         {"nms_kernel", 3},          {"nms_algorithm", "exp_soft_nms"}};
  defaults["att_ranges"] = json::parse("[[96,256],[32,96],[0,32]]");
  const json arguments = config_of(file, defaults, {"min_scale"});
  set.check_count(file.cases("saccade_run").size(), 2, 2);
  for (const std::string& name : file.cases("saccade_run")) {
    const Case one = file.cut(name);
    const NamedTensors got = call(detection_ops(), "saccade_run", one.tensors, arguments);
    for (const std::string round : {"0", "1"}) {
      check_same(name + " locations" + round, got.at("locations" + round), one.tensors.at("locations" + round),
                 {.absolute = 1e-4});
      const std::string input = "call" + round + ".net_input";
      check_net_input(one, input, got.at(input), {.absolute = 1e-4}, {.absolute = 1e-5});
    }
    for (int j = 1; j <= arguments.at("categories").get<int>(); ++j) {
      const std::string boxes = "class" + std::to_string(j) + ".out";
      check_boxes(name + " " + boxes, got.at(boxes), one.tensors.at(boxes), 1e-4);
    }
  }
}

}  // namespace

PARITY_TEST("decoding", decoding)
PARITY_TEST("soft NMS", soft_nms)
PARITY_TEST("CornerNet's post-processing", post_processing)
PARITY_TEST("the steps of Saccade's search", steps_of_search)
PARITY_TEST("Saccade's whole search", whole_search)

}  // namespace flowtrain::detection_cases_test
