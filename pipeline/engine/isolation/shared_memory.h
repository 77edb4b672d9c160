#pragma once
// Memory that two processes share and that can grow, and a way to wake each other.

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace flowtrain {

/// A nameless file in memory, mapped. Closed and unmapped by the destructor.
class SharedMemory {
 public:
  /// Makes one of `bytes`. Throws UserError(usage) if the system gives none.
  explicit SharedMemory(std::size_t bytes);
  /// Maps memory that another process made, by its descriptor, which it takes over. Throws std::system_error.
  static SharedMemory opened(int descriptor);
  SharedMemory(SharedMemory&& other) noexcept;
  ~SharedMemory();

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }
  int descriptor() const { return descriptor_; }
  /// Grows to at least `bytes`; data() may move. The content stays.
  void grow(std::size_t bytes);
  /// Maps all of it, after another process has made it larger; data() may move.
  void follow(std::size_t bytes);

 private:
  SharedMemory() = default;

  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Sleeps until another thread, of any process, calls wake() for `word`, but no longer than `limit`, and not at all
/// unless `word` is `value`. It may return early.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::milliseconds limit);
void wake(std::atomic<std::uint32_t>& word);

}  // namespace flowtrain
