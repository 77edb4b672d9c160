// Turns the nets' maps into boxes: decoding, NMS, and the steps of both detectors. All mirror the reference.

#include <ATen/ATen.h>

#include "nets/cornernet/decode.h"
#include "stages/torch/detection/detector.h"
#include "stages/torch/detection/rows.h"
#include "tests/parity/ops.h"
#include "tests/parity/saccade_ops.h"

namespace flowtrain::parity {
namespace {

NamedTensors decode(const Call& call) {
  const auto sizes = input(call.in, "tl_heat", at::kFloat, {-1, -1, -1, -1}).sizes().vec();
  const auto map = [&](const std::string& name, std::int64_t channels) {
    return input(call.in, name, at::kFloat, {sizes[0], channels, sizes[2], sizes[3]});
  };
  const nets::CornerMaps maps{map("tl_heat", sizes[1]), map("br_heat", sizes[1]), map("tl_tag", 1),
                              map("br_tag", 1),         map("tl_off", 2),         map("br_off", 2)};
  const at::Tensor found = nets::decode(maps, {.top_k = call.set.get<std::int64_t>("K"),
                                               .nms_kernel = call.set.get<std::int64_t>("kernel"),
                                               .ae_threshold = call.set.get<double>("ae_threshold"),
                                               .num_dets = call.set.get<std::int64_t>("num_dets"),
                                               .no_border = call.set.get("no_border", false)});
  return {{"detections", found}, {"n_valid", found.select(2, 4).gt(-1).sum(1)}};
}

/// Boxes as rows of their first `columns` fields.
at::Tensor rows_of(const std::vector<ScoredBox>& boxes, std::int64_t columns) {
  static_assert(sizeof(ScoredBox) == 7 * sizeof(float));
  const auto count = static_cast<std::int64_t>(boxes.size());
  at::Tensor rows = at::empty({count, 7});
  std::copy(boxes.begin(), boxes.end(), reinterpret_cast<ScoredBox*>(rows.data_ptr<float>()));
  return rows.narrow(1, 0, columns);
}

NamedTensors soft_nms(const Call& call) {
  std::vector<ScoredBox> boxes = boxes_of(input(call.in, "in", at::kFloat, {-1, 7}).cpu());
  const auto method = call.set.get<std::string>("method");
  const std::map<std::string, NmsMethod> methods{
      {"hard", NmsMethod::hard}, {"linear", NmsMethod::linear}, {"exp", NmsMethod::exponential}};
  if (!methods.contains(method)) throw BadCall("--set method=" + method + ": expected hard, linear or exp");
  const std::size_t kept = flowtrain::soft_nms(std::span(boxes), {.method = methods.at(method),
                                                                  .threshold = call.set.get("Nt", 0.5F),
                                                                  .sigma = call.set.get("sigma", 0.5F),
                                                                  .least = call.set.get("threshold", 0.001F),
                                                                  .merge = call.set.get("merge", false),
                                                                  .weight_exp = call.set.get("weight_exp", 8.0F),
                                                                  .mirror = true});
  return {{"out", rows_of(boxes, 7)}, {"kept", at::scalar_tensor(static_cast<std::int64_t>(kept), at::kLong)}};
}

CornerNetOptions cornernet_options(const Arguments& set) {
  CornerNetOptions options;
  read_detector_options(set, options);
  options.test_scales = set.get("test_scales", options.test_scales);
  options.test_flipped = set.get("test_flipped", true);
  options.merge_bbox = set.get("merge_bbox", false);
  options.weight_exp = set.get("weight_exp", options.weight_exp);
  options.nms_threshold = set.get("nms_threshold", 0.7F);
  options.mirror = true;
  return options;
}

NamedTensors postproc(const Call& call) {
  const CornerNetOptions options = cornernet_options(call.set);
  const at::Tensor picture = input(call.in, "image_bgr", at::kByte, {-1, -1, 3}).cpu().contiguous();
  NamedTensors out;
  int calls = 0;
  const Infer given = [&](const at::Tensor& images, bool) {
    const std::string scale = "scale" + std::to_string(calls++);
    out.set(scale + ".net_input", images);
    return Inference{input(call.in, scale + ".raw_dets", at::kFloat, {images.size(0), -1, 8}), {}};
  };
  ClassBoxes boxes = collect_boxes(picture.data_ptr<std::uint8_t>(), static_cast<int>(picture.size(0)),
                                   static_cast<int>(picture.size(1)), options, given);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    out.set("class" + std::to_string(i + 1) + ".before_nms", rows_of(boxes[i], 7));
  settle_boxes(boxes, options);
  add_classes(boxes, out);
  return out;
}

}  // namespace

void read_detector_options(const Arguments& set, DetectorOptions& options) {
  options.input_size = set.get("input_size", options.input_size);
  options.output_size = set.get("output_sizes", std::vector{options.output_size}).at(0);
  options.categories = set.get("categories", options.categories);
  options.nms_algorithm = nms_method(set.get<std::string>("nms_algorithm", "exp_soft_nms"));
  options.max_per_image = set.get("max_per_image", options.max_per_image);
  // The net's answers are given: nothing is decoded here, nor drawn.
  for (const char* key : {"top_k", "num_dets", "nms_kernel", "ae_threshold", "rand_scales"}) set.get(key, json());
}

void add_classes(const ClassBoxes& boxes, NamedTensors& out) {
  for (std::size_t i = 0; i < boxes.size(); ++i)
    out.set("class" + std::to_string(i + 1) + ".out", rows_of(boxes[i], 5));
}

Ops detection_ops() {
  Ops ops = saccade_ops();
  ops.merge(Ops{{"decode", decode}, {"soft_nms", soft_nms}, {"postproc", postproc}});
  return ops;
}

}  // namespace flowtrain::parity
