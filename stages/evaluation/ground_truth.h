#pragma once
// What an evaluation of a detector compares: the objects that are there, and the boxes that were found.

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
  std::vector<std::int64_t> images;      ///< ids; of records: in the order of their sights
  std::vector<CocoCategory> categories;  ///< in label order
  std::vector<TrueObject> objects;       ///< of these images and categories alone
};

/// Of a whole annotation file.
GroundTruth ground_truth(const CocoInstances& instances);

/// Of the records of a data set that were seen, each once. `coco`: with the ids of its annotation file, which is read
/// again, so that crowds and boxes left out of training count as COCO has it. Of others the sights' boxes; the ids are
/// the records' numbers and labels.
GroundTruth ground_truth(const Dataset& dataset, std::span<const ImageResult> image_results);

/// What was found in these sights, with the ids of their ground truth.
std::vector<FoundObject> found_objects(const GroundTruth& truth, std::span<const ImageResult> image_results);

}  // namespace flowtrain
