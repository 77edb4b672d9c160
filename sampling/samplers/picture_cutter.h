#pragma once
// Makes the pictures of rows from stored images of any size, with the changes that are usual for classification.

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/core/random.h"
#include "sampling/core/settings.h"
#include "sampling/images/augment.h"
#include "sampling/images/resize.h"
#include "sampling/images/stored_picture.h"
#include "sampling/sampler.h"
#include "sampling/samplers/stored.h"

namespace flowtrain {

/// Returns the keys of PictureCutters.
std::vector<Key> picture_keys();

/// Cuts, resizes, mirrors and augments images: at random in training, the centre otherwise. Any thread.
class PictureCutter {
 public:
  /// `form` is that of the stored images. Throws UserError(usage) at the key for settings that do not fit it.
  PictureCutter(const Settings& settings, const StoredForm& form, bool training);

  /// Returns the field of its pictures: u8 (height, width, channels), called `name`.
  Field field(const std::string& name) const;
  int height() const { return height_; }
  /// Writes the picture of a record's image. Throws SampleError for a damaged image.
  void operator()(const Record& record, Stream& random, std::byte* to) const;

 private:
  enum class Crop { random_resized, pad, none };

  static std::pair<int, int> output_size(const Settings& settings, const StoredForm& form);
  void read_resize(const Settings& settings);
  static int output_channels(const Settings& settings, const StoredForm& form);
  Crop training_crop(const Settings& settings, const StoredForm& form) const;
  /// Writes the (height, width) part of the image's region that is the sample, with the image's own channels.
  void cut_out(StoredPicture& picture, const Window& region, Stream& random, std::uint8_t* out) const;
  void augment(std::uint8_t* image, Stream& random) const;
  bool mirrors(Stream& random) const;
  void cut_padded(const Picture& picture, Stream& random, std::uint8_t* out) const;
  /// Combines torchvision's Resize(resize) and CenterCrop(size).
  Rect centre_of(const Window& region) const;

  bool training_;
  std::vector<double> scale_, ratio_;
  int padding_;
  double flip_;
  Filter filter_;
  Decoding decoding_;
  Augmentation augmentation_;
  int height_ = 0, width_ = 0, channels_ = 0;
  int resized_height_ = 0, resized_width_ = 0, shorter_ = 0;  ///< key `resize`; 0: not given
  bool stretches_ = false;                                    ///< to the resized height and width
  Crop crop_ = Crop::none;
  std::vector<double> mean_, stddev_;
};

/// Cuts pictures of the key `size`; in training with the key `sizes`, of the size that each batch has. Any thread.
class PictureCutters {
 public:
  /// Throws as PictureCutter does.
  PictureCutters(const Settings& settings, const StoredForm& form, bool training);

  /// Returns the field of its pictures. With `sizes` in training, height and width are free, and chosen by the plan of
  /// the batches (Field::sized).
  Field field(const std::string& name) const;
  /// Writes a picture as PictureCutter does. `extents` are the batch's height and width; empty: the largest.
  void operator()(const Record& record, Stream& random, std::byte* to, std::span<const std::int64_t> extents) const;

 private:
  std::vector<PictureCutter> cutters_;  ///< by size
  bool sized_;
};

}  // namespace flowtrain
