#pragma once
// The queue between threads: bounded, blocking, with two ways to end. It wraps moodycamel's lock-free queue, whose
// limits are met in this one place:
// - its capacity is a hint: the bound comes from a semaphore of free places;
// - it is FIFO per producer only: one producer token, and callers push one at a time;
// - it cannot be closed: close() and drain() wake every waiter;
// - Debian's timed waits use the wall clock. A jump of it makes one wait of pop_within() longer or shorter, so a caller
//   that must not be late uses pop().

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <type_traits>

#include <concurrentqueue.h>
#include <lightweightsemaphore.h>

#include "sampling/core/mutex.h"

namespace flowtrain {

/// A queue for many consumers and one producer at a time (pushes must not overlap; a serial graph node or one thread).
template <class T>
class LockFreeQueue {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit LockFreeQueue(std::size_t capacity)
      : queue_(capacity, 1, 0),
        token_(queue_),
        capacity_(capacity),
        free_(static_cast<ssize_t>(capacity), spins),
        filled_(0, spins) {}

  std::size_t capacity() const { return capacity_; }
  /// Returns the number of items inside; it is exact only while nobody pushes or pops.
  std::size_t size() const {
    const std::size_t popped = popped_.load();  // first: an item that passes meanwhile must not count below zero
    return std::min(pushed_.load() - popped, capacity_);
  }

  /// Waits for a place. Returns false, without taking the item, if the queue is closed or draining.
  bool push(T item) {
    free_.wait();
    return place(item);
  }
  /// Returns false at once when the queue is full; otherwise it is push().
  bool try_push(T item) { return free_.tryWait() && place(item); }

  /// Waits for an item. Returns false if the queue is closed, or drained to the end.
  bool pop(T& item) {
    filled_.wait();
    return take(item);
  }
  /// Waits as pop() does, but returns nothing after about `patience` while there is neither an item nor an end.
  std::optional<bool> pop_within(T& item, std::chrono::microseconds patience) {
    if (!filled_.wait(patience.count())) return {};
    return take(item);
  }

  /// Ends at once: items inside are dropped, and every waiter wakes.
  void close() {
    closed_ = true;
    wake();
  }
  /// Ends in order: pushes are refused, and items inside can still be popped. The producer calls it.
  void drain() {
    draining_ = true;
    wake();
  }

 private:
  // A short spin: long ones (the library's default is 10,000 turns) take the cores from the workers they wait for.
  static constexpr int spins = 64;

  bool take(T& item) {
    while (!closed_.load()) {
      if (queue_.try_dequeue(item)) {
        popped_.fetch_add(1);
        free_.signal();
        return true;
      }
      if (draining_.load() && size() == 0) break;
    }
    filled_.signal();  // the next waiter must see the end too
    return false;
  }
  bool place(T item) {
    if (closed_.load() || draining_.load()) {
      free_.signal();
      return false;
    }
    pushed_.fetch_add(1);
    queue_.enqueue(token_, item);
    filled_.signal();
    return true;
  }
  void wake() {
    free_.signal();
    filled_.signal();
  }

  moodycamel::ConcurrentQueue<T> queue_;
  moodycamel::ProducerToken token_;
  std::size_t capacity_;
  moodycamel::LightweightSemaphore free_, filled_;
  std::atomic<std::size_t> pushed_{0}, popped_{0};
  std::atomic<bool> closed_{false}, draining_{false};
};

/// Keeps the same contract with a mutex: for ThreadSanitizer, and as the reference in tests.
template <class T>
class LockedQueue {
 public:
  explicit LockedQueue(std::size_t capacity) : capacity_(capacity) {}

  std::size_t capacity() const { return capacity_; }
  std::size_t size() const {
    MutexLock lock(mutex_);
    return items_.size();
  }
  bool push(T item) {
    MutexLock lock(mutex_);
    while (!ended() && items_.size() >= capacity_) changed_.wait(lock);
    return place(item);
  }
  bool try_push(T item) {
    MutexLock lock(mutex_);
    return items_.size() < capacity_ && place(item);
  }
  bool pop(T& item) {
    MutexLock lock(mutex_);
    while (!ended() && items_.empty()) changed_.wait(lock);
    return take(item);
  }
  std::optional<bool> pop_within(T& item, std::chrono::microseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    MutexLock lock(mutex_);
    while (!ended() && items_.empty())
      if (!changed_.wait_until(lock, end)) return {};
    return take(item);
  }
  void close() {
    MutexLock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  void drain() {
    MutexLock lock(mutex_);
    draining_ = true;
    changed_.notify_all();
  }

 private:
  bool ended() const FT_REQUIRES(mutex_) { return closed_ || draining_; }
  bool take(T& item) FT_REQUIRES(mutex_) {
    if (closed_ || items_.empty()) return false;
    item = items_.front();
    items_.pop_front();
    changed_.notify_all();
    return true;
  }
  bool place(T item) FT_REQUIRES(mutex_) {
    if (ended()) return false;
    items_.push_back(item);
    changed_.notify_all();
    return true;
  }

  const std::size_t capacity_;
  mutable Mutex mutex_;
  CondVar changed_;
  std::deque<T> items_ FT_GUARDED_BY(mutex_);
  bool closed_ FT_GUARDED_BY(mutex_) = false;
  bool draining_ FT_GUARDED_BY(mutex_) = false;
};

#ifdef FLOWTRAIN_LOCKED_QUEUE
template <class T>
using BoundedQueue = LockedQueue<T>;
#else
template <class T>
using BoundedQueue = LockFreeQueue<T>;
#endif

}  // namespace flowtrain
