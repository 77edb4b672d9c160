#pragma once
// Writes a record's picture to a file again, for a data set that is packed into shards (`flowtrain pack`).

#include <cstddef>
#include <optional>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/dataset.h"

namespace flowtrain {

struct Repacking {
  std::optional<FileFormat> format = {};  ///< of all files; nothing: a file stays as it is
  int quality = 90;                       ///< of JPEG and WebP files that are written, 1 … 100
  int edge = 0;                           ///< pixels that the shorter edge is brought down to; 0: none
  Decoding decoding = {};                 ///< of the files that are read; those that are written anew are turned first
};

/// A picture as a file.
struct PictureFile {
  FileFormat format = FileFormat::png;
  std::vector<std::byte> bytes;
};

/// The record's picture, or its region, as a file. A file that is to stay as it is and is not too large keeps its
/// bytes. Others are written anew: in `how.format`, or in the format of the record's file, or as PNG where the record
/// has no file of its own (pixels, recipes, a region of a file). All of the picture is decoded in any case, so that
/// damage shows. Throws SampleError for a picture that is damaged, has neither 1 nor 3 channels, or does not fit its
/// format.
PictureFile repack(const Record& record, const Repacking& how);

}  // namespace flowtrain
