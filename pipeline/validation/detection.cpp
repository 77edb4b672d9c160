#include "pipeline/validation/detection.h"

#include <algorithm>
#include <future>
#include <thread>

#include "pipeline/train/exchange.h"
#include "sampling/core/error.h"
#include "stages/evaluation/figures.h"

namespace flowtrain {

namespace {

LookedAt load(const Dataset& dataset, std::uint64_t id) {
  LookedAt loaded{{id, {}, {}}, {}, {}};
  ReadBuffer buffer;
  Image decoded, coloured;
  try {
    const Record record = dataset.read(id, buffer);
    loaded.sight.boxes.assign(record.boxes.begin(),
                              record.boxes.end());  // there to be found, whatever the picture is like
    const Picture picture = colour_picture_of(record, decoded, coloured);
    loaded.bgr.reshape(static_cast<std::uint64_t>(picture.height), static_cast<std::uint64_t>(picture.width), 3);
    auto* to = loaded.bgr.pixels.data();
    for (int y = 0; y < picture.height; ++y)
      for (const auto* from = picture.row(y); from < picture.row(y) + 3 * picture.width; from += 3, to += 3)
        to[0] = from[2], to[1] = from[1], to[2] = from[0];
  } catch (const SampleError& error) {
    loaded.damage = error.what();
  }
  return loaded;
}

Measured measure(const Dataset& dataset, std::span<const Sight> sights) {
  Measured measured;
  measured.truth = ground_truth(dataset, sights);
  measured.found = found_objects(measured.truth, sights);
  measured.coco = coco_evaluate(measured.truth, measured.found, std::max(1u, std::thread::hardware_concurrency()));
  measured.figures = detection_figures(measured.coco, voc_evaluate(measured.truth, measured.found));
  return measured;
}

double value_of(const Figures& figures, const std::string& name) {
  return std::find_if(figures.begin(), figures.end(), [&](auto& figure) { return figure.first == name; })->second;
}

}  // namespace

std::vector<Sight> look_at(const Dataset& dataset, std::span<const std::uint64_t> records, Detector& detector,
                           const std::function<bool(const LookedAt&)>& after) {
  std::vector<Sight> sights;
  const auto read = [&](std::size_t i) { return std::async(std::launch::async, load, std::cref(dataset), records[i]); };
  std::future<LookedAt> next;
  if (!records.empty()) next = read(0);
  for (std::size_t i = 0; i < records.size(); ++i) {
    LookedAt looked = next.get();
    if (i + 1 < records.size()) next = read(i + 1);
    if (looked.damage.empty())
      looked.sight.found = detector.detect(looked.bgr.pixels.data(), looked.bgr.height, looked.bgr.width);
    const bool goes_on = after(looked);
    sights.push_back(std::move(looked.sight));
    if (!goes_on) break;
  }
  return sights;
}

std::optional<Figures> measure_detection(const DetectionMetrics& metrics, Detector& detector,
                                         const std::set<std::uint64_t>& records, Group& group,
                                         const std::function<bool()>& goes_on) {
  std::vector<std::uint64_t> share;
  for (int turn = 0; const std::uint64_t record : records)
    if (turn++ % group.size() == group.rank()) share.push_back(record);
  // What could not be read was named by the line that fed the loss.
  // Ranks ask equally often, though some have one picture more.
  bool complete = true;
  const auto after = [&, asked = std::size_t{0}](const LookedAt& looked) mutable {
    if (metrics.on_look) metrics.on_look(looked);
    if (++asked <= records.size() / static_cast<std::size_t>(group.size())) complete = goes_on();
    return complete;
  };
  std::vector<Sight> sights = look_at(metrics.dataset, share, detector, after);
  if (!complete || !goes_on()) return std::nullopt;
  sights = sights_of_all(group, std::move(sights));
  std::vector<double> values(metrics.names.size(), 0);
  if (group.leads()) {
    const Measured all = measure(metrics.dataset, sights);
    if (metrics.on_measured) metrics.on_measured(all);
    std::transform(metrics.names.begin(), metrics.names.end(), values.begin(),
                   [&](auto& name) { return value_of(all.figures, name); });
  }
  group.sum("the figures of boxes", values);  // the leader's, for all
  Figures figures;
  for (std::size_t i = 0; i < values.size(); ++i) figures.emplace_back(metrics.names[i], values[i]);
  return figures;
}

}  // namespace flowtrain
