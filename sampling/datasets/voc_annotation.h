#pragma once
// Annotations of the PASCAL VOC challenge (M. Everingham et al., IJCV 2010): one XML file per picture.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "sampling/dataset.h"

namespace flowtrain {

struct VocObject {
  std::string name;  ///< of its class
  bool difficult = false;
  Box box{0, 0, 0, 0, -1};  ///< clipped to the picture where its size is known
};

struct VocAnnotation {
  float width = 0, height = 0;  ///< of the picture; 0: not said
  std::vector<VocObject> objects;
  std::uint32_t without_area = 0;  ///< objects left out: their box has no area in the picture
};

/// Annotation files beyond this are refused.
inline constexpr std::size_t max_voc_annotation_bytes = 1 << 20;

/// Reads an annotation. Its pixels count from 1 and both corners belong to the box; those of a Box count from 0 and its
/// second corner does not: x0 = xmin - 1, x1 = xmax. Throws UserError(data) naming `path` for what is malformed (with
/// the byte) or missing.
VocAnnotation parse_voc(std::span<const std::byte> xml, const std::string& path);

}  // namespace flowtrain
