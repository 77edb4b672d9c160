#pragma once
// The image of a record, in any of its encodings.

#include "sampling/codecs/image.h"
#include "sampling/dataset.h"

namespace flowtrain {

/// Returns the image of a record: a view of its bytes (pixels), or of `scratch` after decoding (image, shapes). Its
/// region is not applied. Throws SampleError if the bytes do not make an image, or one of another size than annotated.
Picture picture_of(const Record& record, Image& scratch, const Decoding& how = {});

/// Returns the picture of a record in three channels, red first. It lies in memory of the thread, and is good until the
/// next call. Throws SampleError for a record that is a part of a picture, or makes none.
Picture whole_picture(const Record& record, const Decoding& how);

class PictureReader;

/// A record's image. At first only its size is known; only the part of a file that is asked for is decoded. If the
/// record has a cache, the whole image is decoded at once, even if the cache is full: so damage in a part that no one
/// asks for is noticed in every run or in none.
class StoredPicture {
 public:
  /// Reads the header. The record's bytes must stay in place, and the thread must open no other image before decode().
  /// Throws SampleError, also for an image of another size than annotated.
  explicit StoredPicture(const Record& record, const Decoding& how = {});

  int height() const { return height_; }
  int width() const { return width_; }
  int channels() const { return channels_; }

  /// Some of the image, perhaps smaller, and the place in it of the part that was asked for.
  struct Part {
    Picture picture;
    Rect from;
  };
  /// Decodes the pixels for resizing `part` to (height, width): at a scale of 1/1, 1/2, 1/4 or 1/8 (for a fast JPEG;
  /// otherwise at 1/1) that still has as many, with the pixels around the part that a filter needs, but none outside
  /// `within`. They are valid until this thread decodes the next image. Call it at most once. Throws SampleError.
  Part decode(const Rect& part, const Window& within, int height, int width);

 private:
  int height_ = 0, width_ = 0, channels_ = 3;
  int orientation_ = 1;
  bool fast_ = true;
  PictureReader* reader_ = nullptr;
  Picture whole_;  // set if there is no reader
};

/// Returns the part of a (height, width) image inside `region`, rounded outwards; all of it for an empty region. Throws
/// SampleError if the region is outside.
Window window_of(int height, int width, const Box& region);

}  // namespace flowtrain
