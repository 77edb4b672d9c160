#pragma once
// A mutex whose use clang checks. FT_GUARDED_BY(mutex) on a member says that it is used only while `mutex` is held;
// .ci/thread_safety fails if code breaks this. Other compilers ignore the annotations. Clang does not check
// constructors, destructors and catch blocks: code that locks there belongs in a function. It assumes that a lambda
// holds no mutex: write a wait as a loop, `while (!ready_) changed_.wait(lock);`.

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define FT_ANNOTATION(x) __attribute__((x))
#else
#define FT_ANNOTATION(x)
#endif

// Annotations of types.
#define FT_CAPABILITY FT_ANNOTATION(capability("mutex"))
#define FT_SCOPED_CAPABILITY FT_ANNOTATION(scoped_lockable)
// Annotation of members and global variables: used only while the mutex is held.
#define FT_GUARDED_BY(mutex) FT_ANNOTATION(guarded_by(mutex))
// Annotations of functions: the caller holds the mutex; the caller does not hold it.
#define FT_REQUIRES(mutex) FT_ANNOTATION(requires_capability(mutex))
#define FT_EXCLUDES(mutex) FT_ANNOTATION(locks_excluded(mutex))
// Annotations of functions that lock or unlock a mutex; without an argument, the mutex of the lock object.
#define FT_ACQUIRE(...) FT_ANNOTATION(acquire_capability(__VA_ARGS__))
#define FT_RELEASE() FT_ANNOTATION(release_capability())
// Annotation of functions that are not checked. A comment says why.
#define FT_UNCHECKED FT_ANNOTATION(no_thread_safety_analysis)

namespace flowtrain {

/// A mutex that a MutexLock locks.
class FT_CAPABILITY Mutex {
  friend class MutexLock;
  std::mutex mutex_;
};

/// Holds a mutex during its lifetime, except between unlock() and lock(). A std::condition_variable_any also takes it,
/// for waits that a std::stop_token ends.
class FT_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) FT_ACQUIRE(mutex) : lock_(mutex.mutex_) {}
  ~MutexLock() FT_RELEASE() {}  // NOLINT(modernize-use-equals-default): the annotation needs a body

  void lock() FT_ACQUIRE() { lock_.lock(); }
  void unlock() FT_RELEASE() { lock_.unlock(); }

 private:
  friend class CondVar;
  std::unique_lock<std::mutex> lock_;
};

/// A condition variable. A wait may end without a notification: the caller checks its condition again.
class CondVar {
 public:
  void wait(MutexLock& lock) { changed_.wait(lock.lock_); }
  /// Returns false once the time `end` has come.
  bool wait_until(MutexLock& lock, std::chrono::steady_clock::time_point end) {
    return changed_.wait_until(lock.lock_, end) == std::cv_status::no_timeout;
  }
  void notify_all() { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

}  // namespace flowtrain
