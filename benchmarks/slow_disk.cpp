// Preloaded into the program: each pread takes FLOWTRAIN_DISK_MS milliseconds longer, as on a disk far away that serves
// any number of readers at once; with FLOWTRAIN_DISK_SLOW = N one in N, in no order, takes a hundred times as long.
#include <dlfcn.h>
#include <sys/types.h>
#include <time.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "sampling/core/random.h"

namespace {

double number(const char* name) {
  const char* const wish = std::getenv(name);
  return wish ? std::atof(wish) : 0;
}

void wait_for_disk() {
  static const double delay_ms = number("FLOWTRAIN_DISK_MS");
  static const auto one_in = static_cast<std::uint64_t>(number("FLOWTRAIN_DISK_SLOW"));
  static std::atomic<std::uint64_t> reads{0};
  const bool slow = one_in > 0 && flowtrain::mix64(++reads * 0x9e3779b97f4a7c15ULL) % one_in == 0;
  const auto delay_ns = static_cast<long>(delay_ms * (slow ? 100 : 1) * 1e6);
  const timespec delay{delay_ns / 1'000'000'000, delay_ns % 1'000'000'000};
  ::nanosleep(&delay, nullptr);
}

template <class Call>
Call next(const char* name) {
  return reinterpret_cast<Call>(::dlsym(RTLD_NEXT, name));
}

using Pread = ssize_t (*)(int, void*, size_t, off_t);

}  // namespace

extern "C" ssize_t pread(int file, void* into, size_t bytes, off_t offset) {
  static const auto call = next<Pread>("pread");
  wait_for_disk();
  return call(file, into, bytes, offset);
}

extern "C" ssize_t pread64(int file, void* into, size_t bytes, off64_t offset) {
  static const auto call = next<Pread>("pread64");
  wait_for_disk();
  return call(file, into, bytes, offset);
}
