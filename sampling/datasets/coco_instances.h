#pragma once
// Annotation files of MS COCO (T.-Y. Lin et al., ECCV 2014): pictures, categories and boxes of one split in one JSON
// file, "instances_<split>.json".

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

#include "sampling/core/names.h"

namespace flowtrain {

/// Ids that a file has as texts, by the numbers that stand for them: the text's own where it is a whole number as "17",
/// else one below 0, which is a hash of the text.
using CocoTextIds = std::map<std::int64_t, std::string>;

struct CocoImage {
  std::int64_t id;
  double width, height;  ///< pixels; 0: not said
};

struct CocoCategory {
  std::int64_t id;
  std::string name;  ///< without blanks around it
};

/// One object. x, y: its box's upper left corner; lengths in pixels, from 0, as the file has them: not clipped.
struct CocoAnnotation {
  std::int64_t id;
  std::uint32_t image, category;  ///< places in the lists of CocoInstances
  double x, y, width, height;
  double area;  ///< of the object's outline; where the file does not say: width × height
  bool crowd;   ///< the box surrounds many objects that were not told apart
};

struct CocoInstances {
  std::vector<CocoImage> images;            ///< in the file's order
  Names file_names;                         ///< of the images, in the same order
  std::vector<CocoCategory> categories;     ///< by id, texts last, whatever the file's order: places are labels
  std::vector<CocoAnnotation> annotations;  ///< in the file's order
  CocoTextIds text_ids;                     ///< of images and categories
};

/// An annotation file, and which of its images the records of a data set are.
struct BoxAnnotations {
  CocoInstances instances;
  std::vector<std::int64_t> image_ids;  ///< by record
};

/// Reads an annotation file as it streams by: polygons and all else that is not above are passed over. A file without
/// annotations (image_info_test-dev2017.json) has images without boxes. Throws UserError(data) naming `path` and the id
/// for malformed JSON, what is missing or of another type, ids that are there twice, annotations of an unknown image or
/// category, and numbers too large for pixels.
CocoInstances read_coco_instances(std::istream& stream, const std::string& path);

}  // namespace flowtrain
