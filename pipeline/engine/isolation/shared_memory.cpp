#include "pipeline/engine/isolation/shared_memory.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {
namespace {

std::byte* map(int descriptor, std::size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

UserError no_memory(std::size_t bytes) {
  return UserError(ExitCode::usage,
                   concat("sampler.process: cannot share ", bytes,
                          " bytes with another process: ", std::generic_category().message(errno)),
                   "free some memory, or set sampler.process = false");
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) : bytes_(bytes) {
  // The descriptor avoids the first numbers, where the other process finds it.
  constexpr int least_descriptor = 16;
  const int first = ::memfd_create("flowtrain sampler", MFD_CLOEXEC);
  descriptor_ = first < 0 ? -1 : ::fcntl(first, F_DUPFD_CLOEXEC, least_descriptor);
  if (first >= 0) ::close(first);
  if (descriptor_ >= 0 && ::ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0) data_ = map(descriptor_, bytes);
  if (data_) return;
  const auto error = no_memory(bytes);
  if (descriptor_ >= 0) ::close(descriptor_);
  throw error;
}

SharedMemory SharedMemory::opened(int descriptor) {
  SharedMemory memory;
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw std::system_error(errno, std::generic_category(), "shared memory");
  memory.bytes_ = static_cast<std::size_t>(status.st_size);
  memory.data_ = map(descriptor, memory.bytes_);
  if (!memory.data_) throw std::system_error(errno, std::generic_category(), "shared memory");
  memory.descriptor_ = descriptor;
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory::~SharedMemory() {
  if (data_) ::munmap(data_, bytes_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SharedMemory::grow(std::size_t bytes) {
  if (bytes <= bytes_) return;
  bytes += bytes / 4;  // leaves room for records that are a little larger
  if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) throw no_memory(bytes);
  follow(bytes);
}

void SharedMemory::follow(std::size_t bytes) {
  if (bytes <= bytes_) return;
  void* moved = ::mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
  if (moved == MAP_FAILED) throw no_memory(bytes);
  data_ = static_cast<std::byte*>(moved);
  bytes_ = bytes;
}

// std::atomic::wait is not used: it wakes threads of its own process alone, and has no limit.
void sleep_while(const std::atomic<std::uint32_t>& word, std::uint32_t value, std::chrono::milliseconds limit) {
  const timespec span{limit.count() / 1000, limit.count() % 1000 * 1'000'000};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, value, &span, nullptr, 0);
}

void wake(std::atomic<std::uint32_t>& word) { ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0); }

}  // namespace flowtrain
