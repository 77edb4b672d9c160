// The samplers with given draws, and the Gaussians of their heat maps.

#include <ATen/ATen.h>

#include <charconv>
#include <cstring>
#include <istream>
#include <ostream>
#include <sstream>

#include "nets/cornernet/gaussians.h"
#include "sampling/samplers/cornernet/color.h"
#include "sampling/samplers/cornernet/targets.h"
#include "tests/parity/ops.h"
#include "tests/parity/recorded_draws.h"
#include "tests/parity/sampler_config.h"

namespace flowtrain::parity {
namespace {

NamedTensors gaussian_kernel(const Call& call) {
  const auto radius = call.set.get<std::int64_t>("radius");
  if (radius < 0) throw BadCall("--set radius: is negative");
  std::vector<double> profile;
  nets::gaussian_profile(static_cast<int>(radius), profile);
  const at::Tensor half = at::tensor(profile, at::kDouble);
  const at::Tensor line = at::cat({half.slice(0, 1).flip(0), half});
  return {{"kernel", line.unsqueeze(1) * line}};
}

NamedTensors draw_gaussians(const Call& call) {
  const auto height = call.set.get<std::int64_t>("height"), width = call.set.get<std::int64_t>("width");
  const at::Tensor calls = input(call.in, "calls", at::kLong, {-1, 3}).cpu();
  const at::Tensor heat = at::zeros({height, width});
  const nets::HeatMap map{heat.data_ptr<float>(), static_cast<int>(height), static_cast<int>(width)};
  for (std::int64_t i = 0; i < calls.size(0); ++i) {
    const auto value = [&](std::int64_t column) { return static_cast<int>(calls[i][column].item<std::int64_t>()); };
    if (value(2) < 0) throw BadCall("tensor calls: row " + std::to_string(i) + " has a negative radius");
    nets::draw_gaussian(map, value(0), value(1), value(2));
  }
  return {{"heat", heat}};
}

/// The samplers take pictures red first, the reference blue first.
at::Tensor swap_colours(const at::Tensor& picture) { return picture.flip(2).contiguous(); }

std::vector<Box> boxes_of(const at::Tensor& rows) {
  std::vector<Box> boxes;
  const at::Tensor dense = rows.contiguous();
  const auto* row = dense.data_ptr<float>();
  for (std::int64_t i = 0; i < dense.size(0); ++i, row += 5)
    boxes.push_back({row[0], row[1], row[2], row[3], static_cast<std::int32_t>(row[4]) - 1});
  return boxes;
}

View cut(const NamedTensors& in, const CornerOptions& options, DrawSource& draws) {
  const at::Tensor image = swap_colours(input(in, "image_bgr", at::kByte, {-1, -1, 3}));
  const Picture picture{image.data_ptr<std::uint8_t>(), static_cast<int>(image.size(0)),
                        static_cast<int>(image.size(1)), 3, static_cast<std::size_t>(image.size(1)) * 3};
  View view;
  take_boxes(boxes_of(input(in, "boxes", at::kFloat, {-1, 5})), picture, options, view);
  if (options.saccade)
    cut_saccade(picture, options, draws, view);
  else
    cut_cornernet(picture, options, draws, view);
  return view;
}

at::Tensor painted(const ColorMap& map, const at::Tensor& rgb) {
  const at::Tensor out = at::empty(rgb.sizes(), at::kFloat);
  map.apply(rgb.data_ptr<std::uint8_t>(), static_cast<std::size_t>(rgb.numel() / 3), out.data_ptr<float>());
  return out;
}

/// The picture after each step of its colours.
void add_colours(const at::Tensor& rgb, const CornerOptions& options, DrawSource& draws, NamedTensors& out) {
  ColorMap map;
  if (options.rand_color)
    draw_jitter(rgb.data_ptr<std::uint8_t>(), static_cast<std::size_t>(rgb.numel() / 3), draws, map);
  out.set("after_jitter", painted(map, rgb));
  if (options.rand_color && options.lighting) map.light(draws.lighting());
  out.set("after_lighting", painted(map, rgb));
  map.normalize();
  out.set("image", painted(map, rgb).permute({2, 0, 1}));
}

void add_targets(const View& view, const CornerOptions& options, NamedTensors& out) {
  const std::int64_t objects = options.max_objects;
  const auto add = [&](const std::string& name, at::ScalarType dtype, std::vector<std::int64_t> sizes) {
    out.set(name, at::empty(sizes, dtype));
    return out.at(name);
  };
  const auto off = [&](const char* name) { return add(name, at::kFloat, {objects, 2}).data_ptr<float>(); };
  const auto ind = [&](const char* name) { return add(name, at::kLong, {objects}).data_ptr<std::int64_t>(); };
  const at::Tensor gaussians = at::empty({1, gaussians_of(options), std::tuple_size_v<GaussianTarget>}, at::kInt);
  std::int32_t untagged = 0;
  write_targets(
      view.boxes, options,
      {static_cast<GaussianTarget*>(gaussians.data_ptr()), add("mask", at::kByte, {objects}).data_ptr<std::uint8_t>(),
       off("tl_off"), off("br_off"), ind("tl_ind"), ind("br_ind"), &untagged});
  const nets::CornerHeat heat = nets::draw_gaussians(gaussians, options.classes, options.output_size.height,
                                                     options.output_size.width, options.saccade);
  out.set("tl_heat", heat.tl[0]);
  out.set("br_heat", heat.br[0]);
  if (options.saccade) out.set("tl_valid", heat.tl_valid[0]), out.set("br_valid", heat.br_valid[0]);
  for (std::size_t i = 0; i < options.attention.size(); ++i) {
    const auto& attention = options.attention[i];
    const at::Tensor values = add("att" + std::to_string(i), at::kFloat, {1, attention.size, attention.size});
    write_attention(view.boxes, attention, values.data_ptr<float>());
  }
}

double number_in(const std::string& cell, const std::string& line) {
  double value = 0;
  const auto* end = cell.data() + cell.size();
  if (cell.empty() || std::from_chars(cell.data(), end, value).ptr != end) throw BadCall("not three numbers: " + line);
  return value;
}

}  // namespace

Ops sampler_ops() { return {{"gaussian_kernel", gaussian_kernel}, {"draw_gaussian", draw_gaussians}}; }

NamedTensors run_sample(const std::string& sampler, const json& draws, const NamedTensors& in) {
  const bool saccade = sampler == "cornernet_saccade";
  if (!saccade && sampler != "cornernet")
    throw BadCall("--sampler " + sampler + ": expected cornernet or cornernet_saccade");
  if (!draws.is_object() || !draws.contains("config") || !draws.contains("draws"))
    throw BadCall("--draws: expected {\"config\": …, \"draws\": …}");
  const CornerOptions options = reference_options(draws["config"], saccade);
  RecordedDraws source(draws["draws"]);
  const View view = cut(in, options, source);
  const auto& [height, width] = options.input_size;
  at::Tensor pixels = at::empty({height, width, 3}, at::kByte);
  std::memcpy(pixels.data_ptr(), view.pixels.data(), view.pixels.size());
  NamedTensors out{{"u8_hwc", swap_colours(pixels)}};
  if (in.contains("u8_hwc")) pixels = swap_colours(input(in, "u8_hwc", at::kByte, {height, width, 3}));
  add_colours(pixels, options, source, out);
  add_targets(view, options, out);
  source.check_all_used();
  return out;
}

void run_radius(std::istream& in, std::ostream& out) {
  std::string line;
  const auto read_line = [&] {
    if (!std::getline(in, line)) return false;
    if (line.ends_with('\r')) line.pop_back();
    return true;
  };
  if (!read_line() || line != "height,width,min_overlap")
    throw BadCall("the first line is not height,width,min_overlap");
  out.precision(17);
  out << "height,width,min_overlap,radius_double,radius_int\n";
  while (read_line()) {
    if (line.empty()) continue;
    std::stringstream cells(line);
    std::string height, width, overlap, rest;
    std::getline(cells, height, ',') && std::getline(cells, width, ',') && std::getline(cells, overlap, ',');
    if (std::getline(cells, rest)) throw BadCall("not three numbers: " + line);
    const double radius = gaussian_radius(number_in(height, line), number_in(width, line), number_in(overlap, line));
    out << line << ',' << radius << ',' << std::max(0, static_cast<int>(radius)) << '\n';
  }
}

}  // namespace flowtrain::parity
