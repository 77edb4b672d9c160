#include "stages/evaluation/ground_truth.h"

#include <algorithm>

namespace flowtrain {
namespace {

GroundTruth of_annotations(const BoxAnnotations& annotations, std::span<const ImageResult> image_results) {
  auto truth = ground_truth(annotations.instances);
  truth.images.clear();
  for (const auto& image_result : image_results) truth.images.push_back(annotations.image_ids[image_result.record]);
  auto known = truth.images;
  std::sort(known.begin(), known.end());
  std::erase_if(truth.objects, [&](const TrueObject& object) {
    return !std::binary_search(known.begin(), known.end(), object.image_id);
  });
  return truth;
}

}  // namespace

GroundTruth ground_truth(const CocoInstances& instances) {
  GroundTruth truth;
  truth.categories = instances.categories;
  for (const auto& image : instances.images) truth.images.push_back(image.id);
  for (const auto& each : instances.annotations)
    truth.objects.push_back({truth.images[each.image], truth.categories[each.category].id, each.x, each.y, each.width,
                             each.height, each.area, each.crowd});
  return truth;
}

GroundTruth ground_truth(const Dataset& dataset, std::span<const ImageResult> image_results) {
  if (const auto annotations = dataset.annotations()) return of_annotations(*annotations, image_results);
  GroundTruth truth;
  for (const auto& name : dataset.classes())
    truth.categories.push_back({static_cast<std::int64_t>(truth.categories.size()), name});
  for (const auto& image_result : image_results) {
    const auto image = static_cast<std::int64_t>(image_result.record);
    truth.images.push_back(image);
    for (const auto& box : image_result.boxes) {
      const double width = double{box.x1} - box.x0, height = double{box.y1} - box.y0;
      truth.objects.push_back({image, box.label, box.x0, box.y0, width, height, width * height, box.ignore});
    }
  }
  return truth;
}

std::vector<FoundObject> found_objects(const GroundTruth& truth, std::span<const ImageResult> image_results) {
  std::vector<FoundObject> objects;
  for (std::size_t i = 0; i < image_results.size(); ++i)
    for (const auto& each : image_results[i].found)
      objects.push_back({truth.images[i], truth.categories.at(static_cast<std::size_t>(each.category)).id, each.x0,
                         each.y0, each.x1 - each.x0, each.y1 - each.y0, each.score});
  return objects;
}

}  // namespace flowtrain
