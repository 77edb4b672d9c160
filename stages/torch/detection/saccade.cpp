#include "stages/torch/detection/detector.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <optional>
#include <string>

#include "sampling/core/error.h"
#include "stages/torch/detection/crops.h"
#include "stages/torch/detection/rows.h"

namespace flowtrain {
namespace {

constexpr float trusted = 0.3F;  // threshold on boxes of the coarse overviews
constexpr double apart = 16;     // input pixels between locations
constexpr float nms_sigma = 0.7F;

/// The results at some locations.
struct Seen {
  at::Tensor rows;  // (n, 8), in pixels of the picture
  std::vector<at::Tensor> attention;
  at::Tensor offsets;
};

void check_options(const SaccadeOptions& options) {
  auto refuse = [](const std::string& what) {
    throw UserError(ExitCode::usage, what,
                    "Give one entry for each attention map, in att_scales for each round as well.");
  };
  const std::size_t maps = options.att_ratios.size(), rounds = options.att_thresholds.size();
  if (options.init_sizes.empty()) refuse("init_sizes is empty");
  if (options.att_nms_ks.size() != maps) refuse("att_nms_ks and att_ratios differ in length");
  if (options.att_scales.size() < rounds) refuse("att_scales has fewer rounds than att_thresholds");
  for (const auto& factors : options.att_scales)
    if (factors.size() != maps) refuse("a round of att_scales and att_ratios differ in length");
}

void check_answer(const Inference& inference, std::int64_t count, std::optional<std::size_t> maps) {
  const at::Tensor& found = inference.detections;
  if (found.dim() != 3 || found.size(0) != count || found.size(2) != 8)
    throw InternalError("saccade: the net's detections do not have the shape (" + std::to_string(count) + ", n, 8)");
  if (maps && inference.attention.size() != *maps)
    throw InternalError("saccade: the net gave " + std::to_string(inference.attention.size()) +
                        " attention maps, expected " + std::to_string(*maps));
}

Seen detect_in(const at::Tensor& picture, const std::vector<Location>& locations, bool with_attention,
               const SaccadeOptions& options, const Infer& infer) {
  Crops crops = cut_crops(picture, locations, options.input_size);
  normalise(crops.images, options);
  const Inference inference = infer(crops.images, with_attention);
  check_answer(inference, crops.images.size(0),
               with_attention ? std::optional(options.att_ratios.size()) : std::nullopt);

  at::Tensor boxes = inference.detections.to(at::kCPU, at::kFloat, /*non_blocking=*/false, /*copy=*/true);
  to_input_pixels(boxes, options.input_size, options.output_size);
  to_picture_pixels(boxes, crops.scales, crops.offsets);
  Seen seen{boxes.reshape({-1, 8}), {}, crops.offsets};
  if (!with_attention) return seen;
  for (const at::Tensor& map : attention_peaks(inference.attention, options.att_nms_ks))
    seen.attention.push_back(map.to(at::kCPU, at::kFloat));
  return seen;
}

/// Returns the locations of the next round, at most `most`.
std::vector<Location> next_locations(const Seen& seen, const std::vector<Location>& looked_at,
                                     const AttentionOptions& attention, bool ref_dets, std::size_t most) {
  std::vector<double> scales;
  for (const Location& location : looked_at) scales.push_back(location.scale);
  std::vector<Location> next = attended(seen.attention, scales, seen.offsets, attention);
  if (ref_dets) {
    const auto boxes = boxes_of(seen.rows);
    for (const Location& location : reference_locations(boxes)) next.push_back(location);
    next = thin_out(next, apart);
  }
  next.resize(std::min(next.size(), most));
  return next;
}

class SaccadeDetector final : public Detector {
 public:
  SaccadeDetector(const SaccadeOptions& options, Infer infer) : options_(options), infer_(std::move(infer)) {}

  std::vector<Detection> detect(const std::uint8_t* bgr, int height, int width) override {
    return detections_of(settle_findings(search(bgr, height, width, options_, infer_), options_));
  }

 private:
  SaccadeOptions options_;
  Infer infer_;
};

}  // namespace

std::vector<Location> overview_locations(int height, int width, const std::vector<int>& init_sizes) {
  std::vector<Location> overviews;
  for (const int size : init_sizes) {
    // float follows the reference: the crops' sizes are rounded down from it.
    const auto scale = static_cast<float>(static_cast<double>(size) / std::max(height, width));
    overviews.push_back({static_cast<double>(height / 2), static_cast<double>(width / 2), scale, 1});
  }
  return overviews;
}

SaccadeFindings search(const std::uint8_t* bgr, int height, int width, const SaccadeOptions& options,
                       const Infer& infer) {
  check_options(options);
  check_picture(bgr, height, width);
  const at::Tensor bytes = at::from_blob(const_cast<std::uint8_t*>(bgr), {height, width, 3}, at::kByte);
  const at::Tensor picture = bytes.permute({2, 0, 1}).to(at::kDouble).div_(255).contiguous();

  SaccadeFindings findings;
  std::vector<at::Tensor> rows;
  std::vector<Location> locations = overview_locations(height, width, options.init_sizes);
  std::size_t crops_left = options.att_max_crops;
  const std::size_t rounds = options.att_thresholds.size();
  for (std::size_t round = 0; round <= rounds && !locations.empty(); ++round) {
    const bool last = round == rounds;
    Seen seen = detect_in(picture, locations, !last, options, infer);
    seen.rows = seen.rows.index({seen.rows.select(1, 4).gt(round == 0 ? trusted : -1)});
    rows.push_back(seen.rows);
    findings.visited.push_back(locations);
    if (last) break;
    locations = next_locations(seen, locations,
                               {.height = height,
                                .width = width,
                                .threshold = options.att_thresholds[round],
                                .factors = options.att_scales[round],
                                .ratios = options.att_ratios,
                                .only_closer = round > 0},
                               options.ref_dets, crops_left);
    crops_left -= locations.size();
  }
  findings.rows = at::cat(rows);
  return findings;
}

ClassBoxes settle_findings(const SaccadeFindings& findings, const SaccadeOptions& options) {
  ClassBoxes boxes = by_class(findings.rows, options.categories);
  soft_nms(boxes, {.method = options.nms_algorithm, .threshold = options.nms_threshold, .sigma = nms_sigma});
  keep_best(boxes, options.max_per_image);
  return boxes;
}

std::unique_ptr<Detector> make_saccade_detector(const SaccadeOptions& options, Infer infer) {
  check_options(options);
  return std::make_unique<SaccadeDetector>(options, std::move(infer));
}

}  // namespace flowtrain
