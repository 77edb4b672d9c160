#include "pipeline/detection.h"

#include <algorithm>
#include <future>

#include "pipeline/assembly.h"
#include "pipeline/snapshot/file.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/snapshot_branch.h"
#include "pipeline/table_line.h"
#include "pipeline/telemetry/log.h"
#include "sampling/codecs/image.h"
#include "sampling/codecs/png.h"
#include "sampling/dataset.h"
#include "stages/detection/draw.h"
#include "stages/evaluation/coco_eval.h"
#include "stages/evaluation/results_file.h"
#include "stages/evaluation/voc_eval.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;

/// A picture ready to be looked at, or the reason why there is none.
struct Loaded {
  Image bgr;
  std::vector<Box> boxes;
  std::string damage;
};

Loaded load(const Dataset& dataset, std::uint64_t id) {
  Loaded loaded;
  ReadBuffer buffer;
  Image decoded, coloured;
  try {
    const Record record = dataset.read(id, buffer);
    const Picture picture = colour_picture_of(record, decoded, coloured);
    loaded.bgr.reshape(static_cast<std::uint64_t>(picture.height), static_cast<std::uint64_t>(picture.width), 3);
    auto* to = loaded.bgr.pixels.data();
    for (int y = 0; y < picture.height; ++y)
      for (const auto* from = picture.row(y); from < picture.row(y) + 3 * picture.width; from += 3, to += 3)
        to[0] = from[2], to[1] = from[1], to[2] = from[0];
    loaded.boxes.assign(record.boxes.begin(), record.boxes.end());
  } catch (const SampleError& error) {
    loaded.damage = error.what();
  }
  return loaded;
}

void write_picture(const fs::path& path, Image bgr, const std::vector<Box>& boxes, const std::vector<Detection>& found) {
  constexpr float least_drawn = 0.3F;
  for (std::size_t i = 0; i < bgr.pixels.size(); i += 3) std::swap(bgr.pixels[i], bgr.pixels[i + 2]);
  draw_boxes(bgr.pixels.data(), bgr.height, bgr.width, boxes, found, least_drawn);
  write_png(path.string(), bgr.view());
}

void log_classes(const GroundTruth& truth, const CocoEvaluation& coco) {
  log_info("    AP   AP50   AP75  objects  class");
  for (std::size_t i = 0; i < truth.categories.size(); ++i) {
    const auto& category = truth.categories[i];
    const auto objects = std::count_if(truth.objects.begin(), truth.objects.end(),
                                       [&](auto& object) { return object.category_id == category.id && !object.ignore; });
    const CocoScores& scores = coco.classes[i];
    std::string line;
    append_line(line, "%6.3f %6.3f %6.3f %8lld  %s", scores.ap, scores.ap50, scores.ap75, static_cast<long long>(objects),
                category.name.c_str());
    if (objects > 0) log_info(line);
  }
}

Figures figures_of(const CocoEvaluation& coco, const VocEvaluation& voc) {
  Figures figures;
  for (auto& [name, score] : coco_score_names) {
    std::string lower = name;
    std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
    figures.emplace_back(lower, coco.all.*score);
  }
  figures.emplace_back("voc_map", voc.mean_ap);
  return figures;
}

}  // namespace

bool detects(const Config& config) { return config.table("net").text("name").starts_with("cornernet"); }

Figures test_detection(const Config& config, const fs::path& snapshot, const MakeDetector& make, const fs::path& folder,
                       std::size_t pictures) {
  const Settings& data = config.data(false);
  const auto dataset = datasets().at(data.text("dataset")).make(data, {.training = false});
  const LearnerState weights = read_tensors(open_snapshot(snapshot));
  const auto detector = make({config.table("net"), config.table("sampler"), config.table("detect"), config.table("run"),
                              static_cast<std::int64_t>(dataset->classes().size()), choose_device(config), weights});
  const GroundTruth truth = ground_truth(*dataset);
  make_folders(folder);

  std::vector<FoundObject> results;
  // The next picture is read while the net looks at this one.
  auto next = std::async(std::launch::async, load, std::cref(*dataset), std::uint64_t{0});
  for (std::uint64_t id = 0; id < dataset->size(); ++id) {
    Loaded loaded = next.get();
    if (id + 1 < dataset->size()) next = std::async(std::launch::async, load, std::cref(*dataset), id + 1);
    if (!loaded.damage.empty()) {
      log_warn(dataset->describe(id) + ": " + loaded.damage);
      continue;
    }
    const auto found = detector->detect(loaded.bgr.pixels.data(), loaded.bgr.height, loaded.bgr.width);
    for (auto& each : found)
      results.push_back({truth.images[id], truth.categories.at(static_cast<std::size_t>(each.category)).id, each.x0, each.y0,
                         each.x1 - each.x0, each.y1 - each.y0, each.score});
    if (id < pictures) write_picture(folder / say("picture-", id, ".png"), std::move(loaded.bgr), loaded.boxes, found);
  }
  write_results(folder / "results.json", results);
  const auto coco = coco_evaluate(truth, results, std::max(1u, std::thread::hardware_concurrency()));
  log_classes(truth, coco);
  return figures_of(coco, voc_evaluate(truth, results));
}

}  // namespace flowtrain
