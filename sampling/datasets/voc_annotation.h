#pragma once
// Reads annotations of the PASCAL VOC challenge (M. Everingham et al., IJCV 2010): one XML file per image.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sampling/dataset.h"
#include "sampling/datasets/odd_boxes.h"

namespace flowtrain {

struct VocObject {
  std::string name;  ///< name of its class, in UTF-8
  bool difficult = false;
  Box box{0, 0, 0, 0, -1};  ///< clipped to the image if its size is known
};

struct VocAnnotation {
  float width = 0, height = 0;  ///< size of the image; 0: unknown
  std::vector<VocObject> objects;
  OddBoxes odd;  ///< some of them were left out
};

/// The largest annotation file that is accepted.
inline constexpr std::size_t max_voc_annotation_bytes = 1 << 20;

/// Reads an annotation in UTF-8, UTF-16 or any encoding that its first line declares and iconv knows. Blanks around its
/// texts do not count; a missing or empty width or height is 0. Its pixels count from 1 and both corners belong to the
/// box; those of a Box count from 0 and its second corner is exclusive: x0 = xmin - 1, x1 = xmax. Throws
/// UserError(data) naming `path` for malformed (with the byte) or missing contents.
VocAnnotation parse_voc(std::span<const std::byte> xml, const std::string& path);

}  // namespace flowtrain
