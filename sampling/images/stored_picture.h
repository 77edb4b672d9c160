#pragma once
// The picture of a record, whatever the record stores.

#include "sampling/codecs/image.h"
#include "sampling/dataset.h"

namespace flowtrain {

/// The picture of a record: a view of its bytes (pixels), or of `scratch` after decoding (image, shapes). Its region is
/// not applied. Throws SampleError where the bytes do not make a picture, or one of another size than is annotated.
Picture picture_of(const Record& record, Image& scratch, const Decoding& how = {});

/// Returns the picture of a record in three channels, red first. It lies in memory of the thread, and is good until the
/// next call. Throws SampleError for a record that is a part of a picture, or makes none.
Picture whole_picture(const Record& record, const Decoding& how);

class PictureReader;

/// A record's picture. At first only its size is known; of a file, only the part that is asked for is decoded. If the
/// record has a cache, the whole picture is decoded at once, even if the cache is full: so damage in a part that no one
/// asks for is noticed in every run or in none.
class StoredPicture {
 public:
  /// Reads the header. The record's bytes must stay where they are, and the thread must open no other picture before
  /// decode(). Throws SampleError, also for a picture of another size than is annotated.
  explicit StoredPicture(const Record& record, const Decoding& how = {});

  int height() const { return height_; }
  int width() const { return width_; }
  int channels() const { return channels_; }

  /// Some of the picture, perhaps smaller, and where in it the part lies that was asked for.
  struct Part {
    Picture picture;
    Rect from;
  };
  /// The pixels for resizing `part` to (height, width): at a scale of 1/1, 1/2, 1/4 or 1/8 (JPEG if it is to be fast;
  /// otherwise at 1/1) that still has as many, and as far around the part as a filter looks, but none outside `within`.
  /// They are gone with the next picture that this thread decodes. At most once. Throws SampleError.
  Part decode(const Rect& part, const Window& within, int height, int width);

 private:
  int height_ = 0, width_ = 0, channels_ = 3;
  int orientation_ = 1;
  bool fast_ = true;
  PictureReader* reader_ = nullptr;
  Picture whole_;  // where there is no reader
};

/// The part of a (height, width) picture inside `region`, rounded outwards; all of it for an empty region. Throws
/// SampleError if the region lies outside.
Window window_of(int height, int width, const Box& region);

}  // namespace flowtrain
