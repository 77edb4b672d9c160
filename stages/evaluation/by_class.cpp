#include "stages/evaluation/by_class.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sampling/core/error.h"

namespace flowtrain {
namespace {

template <class Item>
bool is_finite(const Item& item) {
  return std::isfinite(item.x) && std::isfinite(item.y) && std::isfinite(item.width) && std::isfinite(item.height);
}

template <class Item>
void sort_by_image(std::vector<Placed<Item>>& items) {
  std::stable_sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return a.image < b.image; });
}

}  // namespace

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
      throw UserError(ExitCode::data, name + " has no finite numbers");
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
  // In the order of operations of pycocotools: many overlaps lie exactly on a threshold.
  const double width = std::min(found.width + found.x, object.width + object.x) - std::max(found.x, object.x);
  if (width <= 0) return 0;
  const double height = std::min(found.height + found.y, object.height + object.y) - std::max(found.y, object.y);
  if (height <= 0) return 0;
  const double both = width * height, area = found.width * found.height;
  return both / (crowd ? area : area + object.width * object.height - both);
}

}  // namespace flowtrain
