#include "pipeline/inference/evaluation/sample_pictures.h"

#include <algorithm>

#include "sampling/core/error.h"
#include "sampling/images/stored_picture.h"

namespace flowtrain {

Image stored_picture(const Dataset& dataset, const Decoding& decoding, std::uint64_t id) try {
  ReadBuffer buffer;
  Image decoded, own;
  const Record record = dataset.read(id, buffer);
  const Picture whole = picture_of(record, decoded, decoding);
  const Picture part = crop(whole, window_of(whole.height, whole.width, record.region));
  check_channels(part.channels);
  own.reshape(part.height, part.width, part.channels);
  for (int y = 0; y < part.height; ++y)
    std::copy_n(part.row(y), static_cast<std::size_t>(part.width) * static_cast<std::size_t>(part.channels),
                own.row(y));
  return own;
} catch (const SampleError&) {
  return {};
}

}  // namespace flowtrain
