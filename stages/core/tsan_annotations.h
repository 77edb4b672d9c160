#pragma once
// oneTBB orders the bodies of a graph along its edges. ThreadSanitizer cannot see that, as distributions build oneTBB
// without it; so the bodies tell it what they hand over and what they take. In other builds these are nothing.

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace flowtrain {

/// All that this thread wrote so far belongs to whoever calls taken_over() with the same address next.
inline void handed_over([[maybe_unused]] const void* what) {
#ifdef __SANITIZE_THREAD__
  __tsan_release(const_cast<void*>(what));
#endif
}

/// The other side of handed_over().
inline void taken_over([[maybe_unused]] const void* what) {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(const_cast<void*>(what));
#endif
}

}  // namespace flowtrain
