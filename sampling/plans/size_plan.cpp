#include "sampling/plans/size_plan.h"

#include "sampling/core/random.h"

namespace flowtrain {

// A stream that begins within an epoch counts the batches before it by their samples.
std::size_t SizePlan::at(std::uint64_t first, const Batches& batches, std::uint32_t accum) const {
  const std::uint64_t before = batches.epoch(first) * batches.per_epoch() + batches.index(first, 0) / batches.size();
  const std::uint64_t iteration = before / accum;
  if (!options_.grows) return Stream(options_.seed, Purpose::size, iteration).below(options_.sizes);
  std::size_t size = 0;
  while (size + 1 < options_.sizes && start(size + 1, batches, accum) <= iteration) ++size;
  return size;
}

std::uint64_t SizePlan::start(std::size_t size, const Batches& batches, std::uint32_t accum) const {
  if (size == 0) return 0;
  if (!options_.starts.empty()) return options_.starts[size - 1];
  const std::uint64_t end = options_.epochs > 0 ? options_.epochs * batches.per_epoch() : options_.iterations * accum;
  const std::uint64_t parts = options_.sizes * accum;
  return end / parts * size + (end % parts * size + parts - 1) / parts;
}

}  // namespace flowtrain
