#include "stages/torch/learner/train_batches.h"

#include <optional>
#include <utility>

#include "sampling/core/settings.h"

namespace flowtrain {

std::unique_ptr<BatchAdapter> make_train_batches(const LearnerSpec& spec, const SlabLayout& layout) {
  std::optional<BatchMixer> mixer;
  if (spec.mixing.any())
    mixer.emplace(spec.mixing, layout, spec.seed, static_cast<std::uint32_t>(spec.train.integer("accum")));
  return std::make_unique<BatchAdapter>(layout, at::Device(spec.device), spec.net.boolean("channels_last"),
                                        std::move(mixer));
}

}  // namespace flowtrain
