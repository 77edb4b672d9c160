#include "stages/loader/batch_mixer.h"

#include <algorithm>

#include "sampling/core/error.h"

namespace flowtrain {

BatchMixer::BatchMixer(const Mixing& mixing, const SlabLayout& layout, std::uint64_t seed, std::uint32_t accum)
    : mixing_(mixing), seed_(seed), accum_(accum) {
  const auto& fields = layout.fields();
  const auto image = std::find_if(fields.begin(), fields.end(), [](auto& field) { return is_image(field); });
  if (image == fields.end()) throw InternalError("batches without pictures of bytes cannot be mixed");
  shape_ = shape_of(*image);
}

const BatchMix& BatchMixer::operator()(const Slab& slab) {
  mixing_.draw(seed_, batch_number(slab.ticket(), accum_), slab.rows().front().position, slab.rows().size(), shape_,
               drawn_);
  return drawn_;
}

}  // namespace flowtrain
