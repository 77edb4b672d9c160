#include "stages/evaluation/ground_truth.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sampling/core/error.h"

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

template <class Item>
bool is_finite(const Item& item) {
  return std::isfinite(item.x) && std::isfinite(item.y) && std::isfinite(item.width) && std::isfinite(item.height);
}

template <class Item>
void sort_by_image(std::vector<Placed<Item>>& items) {
  std::stable_sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.image < b.image; });
}

}  // namespace

GroundTruth ground_truth(const CocoInstances& instances) {
  GroundTruth truth;
  truth.categories = instances.categories;
  truth.text_ids = instances.text_ids;
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

std::vector<OfClass> by_class(const GroundTruth& truth, std::span<const FoundObject> detections) {
  auto images = truth.images;
  std::sort(images.begin(), images.end());
  images.erase(std::unique(images.begin(), images.end()), images.end());
  const auto place_of = [&](std::int64_t id) {
    const auto at = std::lower_bound(images.begin(), images.end(), id);
    return at != images.end() && *at == id ? at - images.begin() : -1;
  };
  std::map<std::int64_t, std::size_t> label_of;
  for (std::size_t label = 0; label < truth.categories.size(); ++label) label_of[truth.categories[label].id] = label;

  std::vector<OfClass> classes(truth.categories.size());
  for (const auto& object : truth.objects) {
    const auto place = place_of(object.image_id);
    const auto label = label_of.find(object.category_id);
    if (place < 0 || label == label_of.end() || !is_finite(object))
      throw InternalError("an object of an unknown image or category, or without a place");
    classes[label->second].objects.push_back({static_cast<std::uint32_t>(place), &object});
  }
  for (const auto& found : detections) {
    const auto place = place_of(found.image_id);
    const auto name = "a detection in image " + std::to_string(found.image_id);
    if (place < 0)
      throw UserError(ExitCode::data, name + ", which is not among those evaluated",
                      "evaluate results on their own split");
    if (!is_finite(found) || !std::isfinite(found.score))
      throw UserError(ExitCode::data, name + " has a number that is not finite");
    const auto label = label_of.find(found.category_id);
    if (label == label_of.end()) continue;
    classes[label->second].detections.push_back({static_cast<std::uint32_t>(place), &found});
  }
  for (auto& each : classes) {
    sort_by_image(each.objects);
    sort_by_image(each.detections);
  }
  return classes;
}

double overlap(const FoundObject& found, const TrueObject& object, bool crowd) {
  // The operations follow pycocotools' order: many overlaps lie exactly on a threshold.
  const double width = std::min(found.width + found.x, object.width + object.x) - std::max(found.x, object.x);
  if (width <= 0) return 0;
  const double height = std::min(found.height + found.y, object.height + object.y) - std::max(found.y, object.y);
  if (height <= 0) return 0;
  const double both = width * height, area = found.width * found.height;
  return both / (crowd ? area : area + object.width * object.height - both);
}

}  // namespace flowtrain
