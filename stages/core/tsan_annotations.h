#pragma once
// oneTBB orders the bodies of a graph along its edges. ThreadSanitizer cannot see that in oneTBB packages that were
// built without it, so the bodies annotate it. In other builds the functions are empty.

#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif

namespace flowtrain {

/// Passes everything that this thread wrote so far to the thread that next calls taken_over() with the same address.
inline void handed_over([[maybe_unused]] const void* what) {
#ifdef __SANITIZE_THREAD__
  __tsan_release(const_cast<void*>(what));
#endif
}

/// Receives what handed_over() passed on.
inline void taken_over([[maybe_unused]] const void* what) {
#ifdef __SANITIZE_THREAD__
  __tsan_acquire(const_cast<void*>(what));
#endif
}

}  // namespace flowtrain
