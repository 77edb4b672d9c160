#include "stages/evaluation/ground_truth.h"

#include <algorithm>

#include "sampling/datasets/coco.h"

namespace flowtrain {
namespace {

GroundTruth of_coco(const Coco& dataset) {
  auto truth = ground_truth(dataset.instances());
  truth.images.clear();
  for (std::uint64_t id = 0; id < dataset.size(); ++id) truth.images.push_back(dataset.image_id(id));
  auto known = truth.images;
  std::sort(known.begin(), known.end());
  std::erase_if(truth.objects, [&](const TrueObject& object) {
    return !std::binary_search(known.begin(), known.end(), object.image_id);
  });
  return truth;
}

void add_objects(const Dataset& dataset, std::uint64_t id, ReadBuffer& buffer, std::vector<TrueObject>& objects) {
  try {
    for (const auto& box : dataset.read(id, buffer).boxes) {
      const double width = double{box.x1} - box.x0, height = double{box.y1} - box.y0;
      objects.push_back({static_cast<std::int64_t>(id), box.label, box.x0, box.y0, width, height, width * height,
                         box.ignore});
    }
  } catch (const SampleError&) {
    // The detector has not seen it either; the line that fed it has named it.
  }
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

GroundTruth ground_truth(const Dataset& dataset) {
  if (const auto* coco = dynamic_cast<const Coco*>(&dataset)) return of_coco(*coco);
  GroundTruth truth;
  for (const auto& name : dataset.classes())
    truth.categories.push_back({static_cast<std::int64_t>(truth.categories.size()), name});
  ReadBuffer buffer;
  for (std::uint64_t id = 0; id < dataset.size(); ++id) {
    truth.images.push_back(static_cast<std::int64_t>(id));
    add_objects(dataset, id, buffer, truth.objects);
  }
  return truth;
}

}  // namespace flowtrain
