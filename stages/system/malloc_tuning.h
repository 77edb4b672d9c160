#pragma once
// Tunes the allocator for the memory that nets compute with.

namespace flowtrain {

/// Lets the C library keep freed memory, for the whole process. A training step on the CPU frees hundreds of megabytes
/// and allocates them again at once; if they went back to the system, each of their pages would cost a fault and be
/// zeroed anew (benchmarks/README.md). Peak memory stays the same, apart from some fragments. It changes nothing if the
/// environment tunes the allocator (MALLOC_*_, GLIBC_TUNABLES), or another allocator is used.
void keep_freed_memory();

}  // namespace flowtrain
