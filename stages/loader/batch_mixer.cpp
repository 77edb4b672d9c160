#include "stages/loader/batch_mixer.h"

#include <algorithm>

#include "sampling/core/error.h"
#include "stages/loader/finished_sampler.h"

namespace flowtrain {

BatchMixer::BatchMixer(const Mixing& mixing, const SlabLayout& layout, std::uint64_t seed, std::uint32_t accum)
    : mixing_(mixing), seed_(seed), accum_(accum) {
  const auto& fields = layout.fields();
  const auto image = std::find_if(fields.begin(), fields.end(), [](auto& field) { return is_image(field); });
  if (image == fields.end()) throw InternalError("batches without pictures of bytes cannot be mixed");
  image_ = static_cast<std::size_t>(image - fields.begin());
}

const BatchMix& BatchMixer::operator()(const Slab& slab) {
  mixing_.draw(seed_, batch_number(slab.ticket(), accum_), slab.rows().front().position, slab.rows().size(),
               shape_of(slab.layout().fields(), image_, slab.extents()), drawn_);
  return drawn_;
}

}  // namespace flowtrain
