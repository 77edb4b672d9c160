#include "pipeline/engine/session/sample_choice.h"

#include <algorithm>

#include "sampling/core/settings.h"
#include "sampling/samplers/keys.h"

namespace flowtrain {

// Where a validation goes through a part of its set, as many more are chosen, so that each one meets about as many.
std::optional<SampleChoice> sample_choice(const ValidationData& set) {
  const auto pictures = static_cast<std::uint64_t>(*set.config.val().pictures);
  if (pictures == 0) return std::nullopt;
  const Dataset& dataset = *set.data.dataset;
  const std::uint64_t rows = std::min(set.batches() * set.data.batch, dataset.size());
  const std::uint64_t count = (pictures * dataset.size() + rows - 1) / rows;
  return SampleChoice{dataset, pictures, spread_records(dataset.size(), count, seed_of(set.config)),
                      decoding_of(set.config.table("sampler"))};
}

}  // namespace flowtrain
