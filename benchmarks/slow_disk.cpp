// Preloaded into the program: each pread takes FLOWTRAIN_DISK_MS milliseconds longer, as on a disk far away that serves
// any number of readers at once.
#include <dlfcn.h>
#include <sys/types.h>
#include <time.h>

#include <cstdlib>

namespace {

void wait_for_disk() {
  static const char* const wish = std::getenv("FLOWTRAIN_DISK_MS");
  static const double delay_ms = wish ? std::atof(wish) : 0;
  const timespec delay{0, static_cast<long>(delay_ms * 1e6)};
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
