#pragma once
// The input of an evaluation of a detector: true objects and found boxes, whole, and sorted by class and image.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sampling/dataset.h"
#include "sampling/datasets/coco_instances.h"
#include "stages/detection/detector.h"

namespace flowtrain {

/// A found box. x, y are its upper left corner; lengths are in pixels of the stored picture.
struct FoundObject {
  std::int64_t image_id, category_id;
  double x, y, width, height;
  double score;  ///< higher means more certain
};

/// A true object.
struct TrueObject {
  std::int64_t image_id, category_id;
  double x, y, width, height;
  double area;  ///< area of its outline, which decides whether it is small, medium or large
  bool ignore;  ///< a crowd, or difficult: it need not be found, and a detection of it is no error
};

/// Annotations and detections of a record; both are empty for a record that could not be read.
struct ImageResult {
  std::uint64_t record;
  std::vector<Box> boxes;
  std::vector<Detection> found;
};

struct GroundTruth {
  std::vector<std::int64_t> images;      ///< ids; of records, in the order of their results
  std::vector<CocoCategory> categories;  ///< classes in label order
  std::vector<TrueObject> objects;       ///< objects of these images and categories alone
  CocoTextIds text_ids = {};             ///< text ids of images and categories in the annotation file
};

/// Reads the truth of a whole annotation file.
GroundTruth ground_truth(const CocoInstances& instances);

/// Reads the truth of the records of a data set that were seen, each once. `coco` data sets read their annotation file
/// again for its ids, so that crowds and boxes left out of training count as in COCO. Other sets use the results'
/// boxes, and the ids are the records' numbers and labels.
GroundTruth ground_truth(const Dataset& dataset, std::span<const ImageResult> image_results);

/// Returns the detections of these results, with the ids of their ground truth.
std::vector<FoundObject> found_objects(const GroundTruth& truth, std::span<const ImageResult> image_results);

template <class Item>
struct Placed {
  std::uint32_t image;  ///< place among the sorted ids of the images
  const Item* item;
};

/// The objects and detections of one class, both by image, and within an image in their original order.
struct OfClass {
  std::vector<Placed<TrueObject>> objects;
  std::vector<Placed<FoundObject>> detections;
};

/// Returns an entry for each category of `truth`, in its order, that points into the arguments. Detections of other
/// categories are left out. Throws UserError(data) for a detection in an image that `truth` lacks or with numbers that
/// are not finite, InternalError for such an object.
std::vector<OfClass> by_class(const GroundTruth& truth, std::span<const FoundObject> detections);

/// The intersection over union of two boxes; with `crowd`, over the detection's area alone. It is 0 if they are apart.
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
