#pragma once
// Loops on torch's own threads. Only nets/ includes this file.

#include <cstdint>
#include <functional>

namespace flowtrain::nets {

/// Runs at::parallel_for: calls body(first, last) for parts of [begin, end), each of at least `grain`, on up to
/// at::get_num_threads() threads. That template runs on one thread only wherever it is compiled without OpenMP; this
/// file is compiled with OpenMP.
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain,
                  const std::function<void(std::int64_t first, std::int64_t last)>& body);

}  // namespace flowtrain::nets
