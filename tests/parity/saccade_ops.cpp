#include "tests/parity/saccade_ops.h"

#include <ATen/ATen.h>

#include "stages/torch/detection/crops.h"
#include "stages/torch/detection/detector.h"
#include "stages/torch/detection/rows.h"

namespace flowtrain::parity {
namespace {

using Size = std::array<int, 2>;

/// Rows y, x, scale, score; the score may be missing.
std::vector<Location> locations_of(const at::Tensor& rows) {
  const at::Tensor all = rows.cpu().to(at::kDouble);
  const auto row = all.accessor<double, 2>();
  std::vector<Location> locations;
  for (std::int64_t i = 0; i < all.size(0); ++i)
    locations.push_back({row[i][0], row[i][1], row[i][2], all.size(1) > 3 ? row[i][3] : 1});
  return locations;
}

at::Tensor rows_of(const std::vector<Location>& locations) {
  at::Tensor rows = at::empty({static_cast<std::int64_t>(locations.size()), 4}, at::kDouble);
  auto row = rows.accessor<double, 2>();
  for (std::int64_t i = 0; i < rows.size(0); ++i) {
    const Location& location = locations[static_cast<std::size_t>(i)];
    row[i][0] = location.y;
    row[i][1] = location.x;
    row[i][2] = location.scale;
    row[i][3] = location.score;
  }
  return rows;
}

NamedTensors location_nms(const Call& call) {
  const auto locations = locations_of(input(call.in, "in", at::kDouble, {-1, 4}));
  return {{"out", rows_of(thin_out(locations, call.set.get("thresh", 16.0)))}};
}

NamedTensors get_ref_locs(const Call& call) {
  const auto boxes = boxes_of(input(call.in, "in", at::kFloat, {-1, 8}).cpu());
  return {{"out", rows_of(reference_locations(boxes)).to(at::kFloat)}};
}

/// The maps `<name>0`, `<name>1`, … that are there, one at least.
std::vector<at::Tensor> maps_of(const NamedTensors& in, const std::string& name, std::int64_t batch) {
  std::vector<at::Tensor> maps;
  for (std::string each = name + "0"; maps.empty() || in.contains(each); each = name + std::to_string(maps.size()))
    maps.push_back(input(in, each, at::kFloat, {batch, 1, -1, -1}));
  return maps;
}

NamedTensors att_nms(const Call& call) {
  const auto maps = maps_of(call.in, "in", -1);
  const auto kernels = call.set.get("kernels", std::vector<int>(maps.size(), 3));
  if (kernels.size() != maps.size()) throw BadCall("--set kernels: expected one for each map");
  NamedTensors out;
  for (const at::Tensor& peaks : attention_peaks(maps, kernels)) out.set("out" + std::to_string(out.size()), peaks);
  return out;
}

NamedTensors decode_atts(const Call& call) {
  const at::Tensor scales = input(call.in, "scales", at::kFloat, {-1}).cpu().to(at::kDouble);
  const at::Tensor offsets = input(call.in, "offsets", at::kFloat, {scales.size(0), 2}).cpu();
  std::vector<at::Tensor> maps = maps_of(call.in, "att", scales.size(0));
  for (at::Tensor& map : maps) map = map.cpu();
  const AttentionOptions options{.height = call.set.get<int>("height"),
                                 .width = call.set.get<int>("width"),
                                 .threshold = call.set.get<float>("thresh"),
                                 .factors = call.set.get("att_scales", std::vector<double>{1, 2, 4}),
                                 .ratios = call.set.get("att_ratios", std::vector<int>{16, 8, 4}),
                                 .only_closer = call.set.get("ignore_same", false)};
  if (options.factors.size() != maps.size() || options.ratios.size() != maps.size())
    throw BadCall("--set att_scales, att_ratios: expected one entry for each map");
  const double* first = scales.data_ptr<double>();
  return {{"out", rows_of(attended(maps, std::vector<double>(first, first + scales.numel()), offsets, options))}};
}

NamedTensors saccade_prepare(const Call& call) {
  const at::Tensor picture = input(call.in, "image", at::kDouble, {3, -1, -1}).cpu();
  const auto locations = locations_of(input(call.in, "locations", at::kFloat, {-1, 3}));
  const Crops crops = cut_crops(picture, locations, call.set.get<Size>("input_size"));
  NamedTensors out{{"offsets", crops.offsets}};
  for (std::int64_t i = 0; i < crops.images.size(0); ++i)
    out.set("images" + std::to_string(i), crops.images[i].clone());
  return out;
}

NamedTensors saccade_remap(const Call& call) {
  at::Tensor boxes = input(call.in, "in", at::kFloat, {-1, -1, 8}).clone();
  const at::Tensor scales = input(call.in, "scales", at::kFloat, {boxes.size(0)});
  const at::Tensor offsets = input(call.in, "offsets", at::kFloat, {boxes.size(0), 2});
  to_input_pixels(boxes, call.set.get<Size>("input_size"), call.set.get<std::vector<Size>>("output_sizes").at(0));
  NamedTensors out{{"after_rescale", boxes.clone()}};
  to_picture_pixels(boxes, scales, offsets);
  out.set("out", boxes);
  return out;
}

SaccadeOptions saccade_options(const Arguments& set) {
  SaccadeOptions options;
  read_detector_options(set, options);
  options.nms_threshold = set.get("nms_threshold", options.nms_threshold);
  options.init_sizes = set.get("init_sizes", options.init_sizes);
  options.att_ratios = set.get("att_ratios", options.att_ratios);
  options.att_nms_ks = set.get("att_nms_ks", options.att_nms_ks);
  options.att_scales = set.get("att_scales", options.att_scales);
  options.att_thresholds = set.get("att_thresholds", options.att_thresholds);
  options.att_max_crops = set.get("att_max_crops", options.att_max_crops);
  options.ref_dets = set.get("ref_dets", options.ref_dets);
  set.get("att_ranges", json());  // the reference reads no more than their number
  return options;
}

NamedTensors saccade_run(const Call& call) {
  const SaccadeOptions options = saccade_options(call.set);
  const at::Tensor picture = input(call.in, "image_bgr", at::kByte, {-1, -1, 3}).cpu().contiguous();
  NamedTensors out;
  int calls = 0;
  const Infer given = [&](const at::Tensor& images, bool with_attention) {
    const std::string prefix = "call" + std::to_string(calls++) + ".";
    out.set(prefix + "net_input", images);
    Inference inference{input(call.in, prefix + "dets", at::kFloat, {images.size(0), -1, 8}), {}};
    if (with_attention) inference.attention = maps_of(call.in, prefix + "att", images.size(0));
    return inference;
  };
  const SaccadeFindings findings = search(picture.data_ptr<std::uint8_t>(), static_cast<int>(picture.size(0)),
                                          static_cast<int>(picture.size(1)), options, given);
  for (std::size_t i = 0; i < findings.visited.size(); ++i) {
    const at::Tensor rows = rows_of(findings.visited[i]);
    out.set("locations" + std::to_string(i), i == 0 ? rows.narrow(1, 0, 3).to(at::kFloat) : rows);
  }
  add_classes(settle_findings(findings, options), out);
  return out;
}

}  // namespace

Ops saccade_ops() {
  return {{"location_nms", location_nms}, {"get_ref_locs", get_ref_locs},       {"att_nms", att_nms},
          {"decode_atts", decode_atts},   {"saccade_prepare", saccade_prepare}, {"saccade_remap", saccade_remap},
          {"saccade_run", saccade_run}};
}

}  // namespace flowtrain::parity
