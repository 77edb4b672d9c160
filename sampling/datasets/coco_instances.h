#pragma once
// Reads annotation files of MS COCO (T.-Y. Lin et al., ECCV 2014): images, categories and boxes of one split in one
// JSON file, "instances_<split>.json".

#include <cstdint>
#include <istream>
#include <map>
#include <string>
#include <vector>

#include "sampling/core/names.h"

namespace flowtrain {

/// The text ids of a file, by the numbers that represent them: the text's own value if it is an integer such as "17",
/// else one below 0, which is a hash of the text.
using CocoTextIds = std::map<std::int64_t, std::string>;

struct CocoImage {
  std::int64_t id;
  double width, height;  ///< size in pixels; 0: unknown
};

struct CocoCategory {
  std::int64_t id;
  std::string name;  ///< name without blanks around it
};

/// One object. x, y: its box's upper left corner; lengths in pixels, from 0, as in the file: not clipped.
struct CocoAnnotation {
  std::int64_t id;
  std::uint32_t image, category;  ///< positions in the lists of CocoInstances
  double x, y, width, height;
  double area;  ///< area of the object's outline; width × height if the file lacks it
  bool crowd;   ///< the box surrounds many objects that were not separated
};

struct CocoInstances {
  std::vector<CocoImage> images;            ///< images in the file's order
  Names file_names;                         ///< file names of the images, in the same order
  std::vector<CocoCategory> categories;     ///< categories by id, texts last: positions are labels
  std::vector<CocoAnnotation> annotations;  ///< annotations in the file's order
  CocoTextIds text_ids;                     ///< text ids of images and categories
};

/// An annotation file, and the images that the records of a data set are.
struct BoxAnnotations {
  CocoInstances instances;
  std::vector<std::int64_t> image_ids;  ///< ids of the images, by record
};

/// Reads an annotation file as a stream: polygons and all else that is not listed above are skipped. A file without
/// annotations (image_info_test-dev2017.json) has images without boxes. Throws UserError(data) naming `path` and the id
/// for malformed JSON, missing values or values of another type, ids that occur twice, annotations of an unknown image
/// or category, and numbers too large for pixels.
CocoInstances read_coco_instances(std::istream& stream, const std::string& path);

}  // namespace flowtrain
