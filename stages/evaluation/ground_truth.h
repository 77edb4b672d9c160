#pragma once
// What an evaluation of a detector compares: the objects that are there, and the boxes that were found; all of them,
// and sorted for an evaluation that goes class by class and in each image by image.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sampling/dataset.h"
#include "sampling/datasets/coco_instances.h"
#include "stages/detection/detector.h"

namespace flowtrain {

/// A box that was found. x, y: its upper left corner; lengths in pixels of the stored picture.
struct FoundObject {
  std::int64_t image_id, category_id;
  double x, y, width, height;
  double score;  ///< the higher, the surer
};

/// An object that is there.
struct TrueObject {
  std::int64_t image_id, category_id;
  double x, y, width, height;
  double area;  ///< of its outline: what sorts it among small, medium and large
  bool ignore;  ///< a crowd, or difficult: need not be found, and what finds it is not wrong
};

/// What is annotated in a record, and what a detector found there; nothing of either in one that could not be read.
struct ImageResult {
  std::uint64_t record;
  std::vector<Box> boxes;
  std::vector<Detection> found;
};

struct GroundTruth {
  std::vector<std::int64_t> images;      ///< ids; of records: in the order of their results
  std::vector<CocoCategory> categories;  ///< in label order
  std::vector<TrueObject> objects;       ///< of these images and categories alone
  CocoTextIds text_ids = {};             ///< of images and categories whose ids are texts in the annotation file
};

/// Of a whole annotation file.
GroundTruth ground_truth(const CocoInstances& instances);

/// Of the records of a data set that were seen, each once. `coco`: with the ids of its annotation file, which is read
/// again, so that crowds and boxes left out of training count as COCO has it. Of others the results' boxes; the ids are
/// the records' numbers and labels.
GroundTruth ground_truth(const Dataset& dataset, std::span<const ImageResult> image_results);

/// What was found in these results, with the ids of their ground truth.
std::vector<FoundObject> found_objects(const GroundTruth& truth, std::span<const ImageResult> image_results);

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
