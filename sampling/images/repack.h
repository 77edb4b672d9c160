#pragma once
// Writes a record's image to a file again, for a data set that is packed into shards (`flowtrain pack`).

#include <cstddef>
#include <optional>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/dataset.h"

namespace flowtrain {

struct Repacking {
  std::optional<FileFormat> format = {};  ///< format of all files; nothing: a file stays as it is
  int quality = 90;                       ///< quality of JPEG and WebP files that are written, 1 … 100
  int edge = 0;                           ///< length in pixels to which the shorter edge is reduced; 0: none
  Decoding decoding = {};                 ///< decoding of the files that are read; rewritten ones are turned first
};

/// An image as a file.
struct PictureFile {
  FileFormat format = FileFormat::png;
  std::vector<std::byte> bytes;
};

/// Returns the record's image, or its region, as a file. A file that may stay and is not too large keeps its bytes.
/// Others are rewritten: in `how.format`, or in the format of the record's file, or as PNG if the record has no file of
/// its own (pixels, recipes, a region of a file). The whole image is always decoded, so that damage shows. Throws
/// SampleError for an image that is damaged, has neither 1 nor 3 channels, or does not fit its format.
PictureFile repack(const Record& record, const Repacking& how);

}  // namespace flowtrain
