#include "stages/system/malloc_tuning.h"

#include <malloc.h>

#include <cstdlib>
#include <initializer_list>

namespace flowtrain {

void keep_freed_memory() {
  for (auto name : {"GLIBC_TUNABLES", "MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TOP_PAD_"})
    if (std::getenv(name)) return;
  constexpr int mib = 1 << 20;
  mallopt(M_TRIM_THRESHOLD, -1);  // never
  mallopt(M_MMAP_THRESHOLD, 1024 * mib);
  // Other threads have heaps of 64 MiB, which are unmapped as a whole unless this much may stay spare.
  mallopt(M_TOP_PAD, 64 * mib);
}

}  // namespace flowtrain
