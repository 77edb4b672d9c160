#pragma once
// Objects and detections sorted for an evaluation, which goes class by class and in each image by image.

#include <cstdint>
#include <span>
#include <vector>

#include "stages/evaluation/ground_truth.h"

namespace flowtrain {

template <class Item>
struct Placed {
  std::uint32_t image;  ///< its place among the sorted ids of the images
  const Item* item;
};

/// What is there and what was found of one class; both by image, and in each image in the order they came in.
struct OfClass {
  std::vector<Placed<TrueObject>> objects;
  std::vector<Placed<FoundObject>> detections;
};

/// One entry for each category of `truth`, in its order; points into the arguments. Detections of other categories are
/// left out. Throws UserError(data) for a detection in an image that is not among those of `truth` or whose numbers are
/// not finite, InternalError for such an object.
std::vector<OfClass> by_class(const GroundTruth& truth, std::span<const FoundObject> detections);

/// Intersection over union of two boxes; with `crowd`, over the detection's area alone. 0 where they do not meet.
double overlap(const FoundObject& found, const TrueObject& object, bool crowd);

/// Calls body(first, last) for each run of items of one image.
template <class Item, class Body>
void for_each_image(const std::vector<Placed<Item>>& items, Body&& body) {
  for (auto first = items.begin(), last = first; first != items.end(); first = last) {
    while (last != items.end() && last->image == first->image) ++last;
    body(first, last);
  }
}

}  // namespace flowtrain
