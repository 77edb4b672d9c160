#include "pipeline/validation/detection.h"

#include <algorithm>
#include <future>
#include <numeric>
#include <thread>

#include "pipeline/session/assembly.h"
#include "pipeline/snapshot/file.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/telemetry/table_line.h"
#include "pipeline/train/exchange.h"
#include "pipeline/train/run_state.h"
#include "pipeline/train/snapshot_branch.h"
#include "sampling/codecs/png.h"
#include "sampling/core/error.h"
#include "sampling/dataset.h"
#include "stages/detection/draw.h"
#include "stages/evaluation/coco_eval.h"
#include "stages/evaluation/figures.h"
#include "stages/evaluation/results_file.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;

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

void write_picture(const fs::path& path, const LookedAt& looked) {
  constexpr float least_drawn = 0.3F;
  Image rgb = looked.bgr;
  for (std::size_t i = 0; i < rgb.pixels.size(); i += 3) std::swap(rgb.pixels[i], rgb.pixels[i + 2]);
  draw_boxes(rgb.pixels.data(), rgb.height, rgb.width, looked.sight.boxes, looked.sight.found, least_drawn);
  write_png(path.string(), rgb.view());
}

void log_classes(const GroundTruth& truth, const CocoEvaluation& coco) {
  log_info("    AP   AP50   AP75  objects  class");
  for (std::size_t i = 0; i < truth.categories.size(); ++i) {
    const auto& category = truth.categories[i];
    const auto objects = std::count_if(truth.objects.begin(), truth.objects.end(), [&](auto& object) {
      return object.category_id == category.id && !object.ignore;
    });
    const CocoScores& scores = coco.classes[i];
    std::string line;
    append_line(line, "%6.3f %6.3f %6.3f %8lld  %s", scores.ap, scores.ap50, scores.ap75,
                static_cast<long long>(objects), category.name.c_str());
    if (objects > 0) log_info(line);
  }
}

/// What sights say of the detector.
struct Measured {
  GroundTruth truth;
  std::vector<FoundObject> found;
  CocoEvaluation coco;
  Figures figures;
};

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

bool detects(const Config& config) { return config.table("net").text("name").starts_with("cornernet"); }

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
  const auto after = [&, asked = std::size_t{0}](auto&) mutable {
    if (++asked <= records.size() / static_cast<std::size_t>(group.size())) complete = goes_on();
    return complete;
  };
  std::vector<Sight> sights = look_at(metrics.dataset, share, detector, after);
  if (!complete || !goes_on()) return std::nullopt;
  sights = sights_of_all(group, std::move(sights));
  std::vector<double> values(metrics.names.size(), 0);
  if (group.leads()) {
    const Figures all = measure(metrics.dataset, sights).figures;
    std::transform(metrics.names.begin(), metrics.names.end(), values.begin(),
                   [&](auto& name) { return value_of(all, name); });
  }
  group.sum("the figures of boxes", values);  // the leader's, for all
  Figures figures;
  for (std::size_t i = 0; i < values.size(); ++i) figures.emplace_back(metrics.names[i], values[i]);
  return figures;
}

Figures test_detection(const Config& config, const fs::path& snapshot, const MakeDetector& make, const fs::path& folder,
                       std::size_t pictures) {
  const auto device = make_device(choose_device(config), 1, false);  // before there are tensors on it
  const OpenSnapshot opened = open_snapshot(snapshot);
  const auto learnt = RunState::from_json(opened.state_json).classes;
  const auto dataset = open_validation_dataset(config, learnt);
  const LearnerState weights = read_tensors(opened, config.table("ema").boolean("validate"));
  const auto detector =
      make({{config.table("net"), config.table("sampler"), config.table("detect"),
             static_cast<std::int64_t>((learnt.empty() ? dataset->classes() : learnt).size()), device->name()},
            config.table("run"),
            weights});
  make_folders(folder);
  std::vector<std::uint64_t> records(dataset->size());
  std::iota(records.begin(), records.end(), 0);
  const auto sights = look_at(*dataset, records, *detector, [&](const LookedAt& looked) {
    const std::uint64_t id = looked.sight.record;
    if (!looked.damage.empty())
      log_warn(dataset->describe(id) + ": " + looked.damage);
    else if (id < pictures)
      write_picture(folder / say("picture-", id, ".png"), looked);
    return true;
  });
  const Measured measured = measure(*dataset, sights);
  write_results(folder / "results.json", measured.found);
  log_classes(measured.truth, measured.coco);
  return measured.figures;
}

}  // namespace flowtrain
