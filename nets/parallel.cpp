#include "nets/parallel.h"

#include <ATen/Parallel.h>

#if !defined INTRA_OP_PARALLEL && !defined __clang_analyzer__
#error "without OpenMP this would run on one thread"
#endif

namespace flowtrain::nets {

void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  const std::function<void(std::int64_t first, std::int64_t last)>& body) {
  at::parallel_for(begin, end, grain, body);
}

}  // namespace flowtrain::nets
