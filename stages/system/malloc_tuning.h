#pragma once
// The memory that is not a slab's: what nets compute with.

namespace flowtrain {

/// Lets the C library keep what is freed, for the whole process. A training step on the CPU frees hundreds of megabytes
/// and takes them again at once; given back to the system, each of their pages costs a fault and is zeroed anew
/// (benchmarks/README.md). Peak memory stays what it was, but for some fragments. Where the environment tunes the
/// allocator (MALLOC_*_, GLIBC_TUNABLES), or it is another one, nothing changes.
void keep_freed_memory();

}  // namespace flowtrain
