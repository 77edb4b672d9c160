#include <atomic>
#include <utility>

#include "sampling/tokens/word_model.h"

namespace flowtrain {

Scratch& scratch_of(std::uint64_t instance) {
  thread_local std::array<std::pair<std::uint64_t, std::unique_ptr<Scratch>>, 4> kept;
  if (kept[0].first == instance) return *kept[0].second;
  std::size_t place = 1;
  while (place + 1 < kept.size() && kept[place].first != instance) ++place;
  if (kept[place].first != instance) kept[place] = {instance, std::make_unique<Scratch>()};
  for (; place > 0; --place) std::swap(kept[place], kept[place - 1]);
  return *kept[0].second;
}

std::uint64_t next_instance() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

}  // namespace flowtrain
