#pragma once
// What an evaluation of a detector compares: the objects that are there, and the boxes that were found.

#include <cstdint>
#include <string>
#include <vector>

#include "sampling/dataset.h"
#include "sampling/datasets/coco_instances.h"

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

struct GroundTruth {
  std::vector<std::int64_t> images;      ///< ids; from a data set: of its records, in their order
  std::vector<CocoCategory> categories;  ///< in label order
  std::vector<TrueObject> objects;       ///< of these images and categories alone
};

/// Of a whole annotation file.
GroundTruth ground_truth(const CocoInstances& instances);

/// Of a data set's records. `coco`: with the ids of its annotation file, which is read again, so that crowds and boxes
/// left out of training count as COCO has it. Of others every record is read; the ids are their numbers and labels, and
/// a record that cannot be read has no objects.
GroundTruth ground_truth(const Dataset& dataset);

}  // namespace flowtrain
