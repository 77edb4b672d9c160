#include "pipeline/tools/evaluate.h"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

#include "pipeline/session/bad_sample_log.h"
#include "pipeline/session/session.h"
#include "pipeline/snapshot/file.h"
#include "pipeline/snapshot/snapshot_files.h"
#include "pipeline/telemetry/format.h"
#include "pipeline/telemetry/log.h"
#include "pipeline/train/snapshot_branch.h"
#include "pipeline/validation/validation.h"
#include "sampling/codecs/encode.h"
#include "sampling/core/error.h"
#include "stages/detection/draw.h"
#include "stages/evaluation/detection_metrics.h"
#include "stages/evaluation/results_file.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;

bool always() { return true; }

fs::path folder_of(const fs::path& snapshot, const std::string& set) {
  const fs::path place = fs::canonical(snapshot);
  const fs::path folder = place.parent_path().parent_path() / "test" / place.filename();
  return set.empty() ? folder : folder / set;
}

void write_picture(const fs::path& path, const DetectedImage& detected) {
  constexpr float least_drawn = 0.3F;
  Image rgb = detected.bgr;
  for (std::size_t i = 0; i < rgb.pixels.size(); i += 3) std::swap(rgb.pixels[i], rgb.pixels[i + 2]);
  draw_boxes(rgb.pixels.data(), rgb.height, rgb.width, detected.image_result.boxes, detected.image_result.found,
             least_drawn);
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
    if (objects > 0)
      log_info(printed("%6.3f %6.3f %6.3f %8lld  %s", scores.ap, scores.ap50, scores.ap75,
                       static_cast<long long>(objects), category.name.c_str()));
  }
}

// All metrics of boxes, and what is written of them.
DetectionMetrics detection_of(const Dataset& dataset, const fs::path& folder, std::size_t pictures) {
  DetectionMetrics metrics{dataset, detection_metric_names()};
  make_folders(folder);
  metrics.on_image = [&dataset, folder, pictures](const DetectedImage& detected) {
    const std::uint64_t id = detected.image_result.record;
    if (!detected.damage.empty())
      log_warn(dataset.describe(id) + ": " + detected.damage);
    else if (id < pictures)
      write_picture(folder / concat("picture-", id, ".png"), detected);
  };
  metrics.on_measured = [folder](const Measured& measured) {
    write_results(folder / "results.json", measured.found);
    log_classes(measured.truth, measured.coco);
  };
  return metrics;
}

// The validator's metrics over the whole set, and those of `detection` (may be null) after them.
Scalars whole_set(const ValidationData& set, Learner& learner, BadSamples bad, const DetectionMetrics* detection) {
  set.loader->start();
  const auto measured =
      run_validation(*set.loader, learner, bad, 0, set.data.batches.per_epoch(), always, solo_group(), detection);
  set.loader->stop();
  return *measured.scalars;
}

// on_image reports a picture that cannot be read; nothing is found there.
Scalars look_at_all(const ValidationData& set, Learner& learner, const DetectionMetrics& detection) {
  const Dataset& dataset = *set.data.dataset;
  if (dataset.has_boxes())
    return whole_set(set, learner, BadSamples(dataset, {"val", dataset.size()}, [](auto&) {}), &detection);
  std::set<std::uint64_t> all;  // pictures that nobody annotated have no loss
  for (std::uint64_t id = 0; id < dataset.size(); ++id) all.insert(all.end(), id);
  return *measure_detection(detection, *learner.detector(), all, solo_group(), always);
}

Evaluation measure(const ValidationData& set, const fs::path& folder, std::size_t pictures, Learner& learner) {
  Evaluation evaluation{.set = set.name, .folder = folder, .detects = learner.detector() != nullptr};
  const Dataset& dataset = *set.data.dataset;
  if (evaluation.detects)
    evaluation.scalars = look_at_all(set, learner, detection_of(dataset, folder, pictures));
  else
    evaluation.scalars = whole_set(set, learner, make_bad_sample_log(set.config, false, dataset, nullptr), nullptr);
  if (const auto* confusion = learner.confusion()) evaluation.confusion = *confusion;
  return evaluation;
}

}  // namespace

void evaluate(const Config& config, const fs::path& snapshot, std::size_t pictures, const MakeLearner& make_learner,
              const std::function<void(const Evaluation&)>& on_set) {
  Session session(config);
  const OpenSnapshot opened = open_snapshot(snapshot);
  std::exception_ptr left_out;
  const auto on_empty = [&](const EmptyDataset& empty, const std::string& set) {
    left_out = std::current_exception();
    if (!config.list("val.set").empty())
      log_warn(concat(set.empty() ? "[data.val]" : "[[val.set]] " + set, " is left out: ", empty.what()));
  };
  const auto classes = RunState::from_json(opened.state_json).classes;
  const ValidationSets& sets = session.open_validation(classes, on_empty, false);
  if (sets.empty()) std::rethrow_exception(left_out);
  session.prepare();
  session.make_validation_loaders();
  const auto learner = session.make_learner(make_learner, sets.front()->loader->layout());
  // Nothing is trained: the configuration's optimizers need not be the run's.
  learner->load_state({.model = read_model(opened, validates_average(config))});
  for (auto& set : sets) {
    if (!set->name.empty()) log_info("[[val.set]] " + set->name);
    on_set(measure(*set, folder_of(snapshot, set->name), pictures, *learner));
  }
}

}  // namespace flowtrain
