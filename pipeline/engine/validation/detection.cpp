#include "pipeline/engine/validation/detection.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <future>

#include "pipeline/base/errors/agree_on_error.h"
#include "pipeline/engine/validation/detect_share.h"
#include "pipeline/engine/validation/packing.h"
#include "sampling/core/cpus.h"
#include "sampling/core/error.h"
#include "sampling/images/stored_picture.h"
#include "stages/evaluation/detection_metrics.h"
#include "stages/trace/clock.h"

namespace flowtrain {

namespace {

DetectedImage load(const Dataset& dataset, const Decoding& decoding, std::uint64_t id) {
  DetectedImage loaded{{id, {}, {}}, {}, {}};
  ReadBuffer buffer;
  Image decoded, coloured;
  try {
    const Record record = dataset.read(id, buffer);
    loaded.image_result.boxes.assign(record.boxes.begin(),
                                     record.boxes.end());  // They count as annotated, also if the picture is damaged.
    const Picture picture = in_colour(picture_of(record, decoded, decoding), coloured);
    loaded.bgr.reshape(picture.height, picture.width, 3);
    auto* to = loaded.bgr.pixels.data();
    for (int y = 0; y < picture.height; ++y)
      for (const auto* from = picture.row(y); from < picture.row(y) + 3 * picture.width; from += 3, to += 3)
        to[0] = from[2], to[1] = from[1], to[2] = from[0];
  } catch (const SampleError& error) {
    loaded.damage = error.what();
  }
  return loaded;
}

void look_at(Detector& detector, DetectedImage& detected) {
  const auto begin = std::chrono::steady_clock::now();
  try {
    detected.image_result.found = detector.detect(detected.bgr.pixels.data(), detected.bgr.height, detected.bgr.width);
  } catch (const SampleError& error) {
    detected.damage = error.what();
  }
  detected.seconds = seconds_since(begin);
}

Measured measure(const Dataset& dataset, std::span<const ImageResult> image_results) {
  Measured measured;
  measured.image_results = image_results;
  measured.truth = ground_truth(dataset, image_results);
  measured.found = found_objects(measured.truth, image_results);
  measured.coco = coco_evaluate(measured.truth, measured.found, usable_cores());
  measured.scalars = detection_metrics(measured.coco, voc_evaluate(measured.truth, measured.found));
  return measured;
}

// Gathers the results in the order of records, which does not depend on the ranks that found them. A collective.
std::vector<ImageResult> gather_image_results(Group& group, std::vector<ImageResult> mine) {
  std::string bytes;
  if (group.size() > 1) {
    for (auto& image_result : mine)
      put(bytes, image_result.record), put_all(bytes, image_result.boxes), put_all(bytes, image_result.found);
    mine.clear();
    for (const std::string& text : group.gather("the objects that all ranks found", bytes))
      for (std::string_view left = text; !left.empty();)
        mine.push_back({take<std::uint64_t>(left), take_all<Box>(left), take_all<Detection>(left)});
  }
  std::sort(mine.begin(), mine.end(), [](auto& a, auto& b) { return a.record < b.record; });
  return mine;
}

double value_of(const Scalars& scalars, const std::string& name) {
  return std::find_if(scalars.begin(), scalars.end(), [&](auto& scalar) { return scalar.first == name; })->second;
}

}  // namespace

std::vector<ImageResult> detect_in(const Dataset& dataset, const Decoding& decoding,
                                   std::span<const std::uint64_t> records, unsigned readers, Detector& detector,
                                   const std::function<bool(const DetectedImage&)>& after) {
  std::vector<ImageResult> image_results;
  std::deque<std::future<DetectedImage>> ahead;
  auto read_ahead = [&, next = std::size_t{0}]() mutable {
    while (next < records.size() && ahead.size() < readers)
      ahead.push_back(std::async(std::launch::async, load, std::cref(dataset), decoding, records[next++]));
  };
  for (read_ahead(); !ahead.empty();) {
    DetectedImage detected = ahead.front().get();
    ahead.pop_front();
    read_ahead();
    if (detected.damage.empty()) look_at(detector, detected);
    const bool goes_on = after(detected);
    image_results.push_back(std::move(detected.image_result));
    if (!goes_on) break;
  }
  return image_results;
}

std::optional<std::vector<ImageResult>> detect_in_share(const DetectionMetrics& metrics,
                                                        const std::set<std::uint64_t>& records, Detector& detector,
                                                        Group& group, const std::function<bool()>& goes_on) {
  std::vector<std::uint64_t> share;
  for (int turn = 0; const std::uint64_t record : records)
    if (turn++ % group.size() == group.rank()) share.push_back(record);
  // The loader that fed the loss has named unreadable records.
  // Ranks ask equally often, although some have one picture more.
  bool complete = true;
  std::uint64_t asked = 0;
  const auto ask = [&] {
    if (++asked <= records.size() / static_cast<std::size_t>(group.size())) complete = goes_on();
    return complete;
  };
  std::vector<ImageResult> image_results;
  std::exception_ptr error;
  try {
    image_results =
        detect_in(metrics.dataset, metrics.decoding, share, 1, detector, [&](const DetectedImage& detected) {
          if (metrics.on_image) metrics.on_image(detected);
          return ask();
        });
  } catch (const std::exception&) {
    error = std::current_exception();
    while (complete && asked < share.size()) ask();
  }
  if (!complete || !goes_on()) return std::nullopt;
  together(group, "the finding of objects", [&] {
    if (error) std::rethrow_exception(error);
  });
  return image_results;
}

std::optional<Scalars> measure_detection(const DetectionMetrics& metrics, Detector& detector,
                                         const std::set<std::uint64_t>& records, Group& group,
                                         const std::function<bool()>& goes_on) {
  auto own = detect_in_share(metrics, records, detector, group, goes_on);
  if (!own) return std::nullopt;
  const std::vector<ImageResult> image_results = gather_image_results(group, std::move(*own));
  std::vector<double> values(metrics.names.size(), 0);
  together(group, "the measuring of boxes", [&] {
    if (!group.leads()) return;
    const Measured all = measure(metrics.dataset, image_results);
    if (metrics.on_measured) metrics.on_measured(all);
    std::transform(metrics.names.begin(), metrics.names.end(), values.begin(),
                   [&](auto& name) { return value_of(all.scalars, name); });
  });
  group.sum("the metrics of boxes", values);  // All get the leader's.
  Scalars scalars;
  for (std::size_t i = 0; i < values.size(); ++i) scalars.emplace_back(metrics.names[i], values[i]);
  return scalars;
}

}  // namespace flowtrain
