// Keeps the first number that it draws for a record: a later seed has no effect.
#include <map>

#include "tests/pipeline/tools/plugin_kit/broken/broken.h"

static int sample(void*, const ft_record* record, ft_random* random, uint8_t* const* rows, const int64_t*, char*,
                  size_t) {
  static thread_local std::map<uint64_t, uint8_t> first;
  broken::good(record, rows[0]);
  rows[0][0] = first.emplace(record->id, static_cast<uint8_t>(random->next(random->state))).first->second;
  return 0;
}

BROKEN_PLUGIN(sample)
