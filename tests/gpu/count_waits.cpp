// Counts how often the main thread of a program waits for its GPU: to be preloaded (LD_PRELOAD) before a program that
// links CUDA's runtime as a shared library. When the program ends it appends to the file that COUNT_WAITS names a line
// of JSON for each call: {"call", "calls", "seconds"}. A call for what is done already returns at once, and is no wait.

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "sampling/core/mutex.h"

namespace {

struct Waits {
  unsigned long calls = 0;
  double seconds = 0;
};

struct Count {
  flowtrain::Mutex mutex;
  std::map<std::string, Waits> waits FT_GUARDED_BY(mutex);  // by call

  ~Count() {
    const char* path = std::getenv("COUNT_WAITS");
    std::FILE* file = path ? std::fopen(path, "a") : nullptr;
    if (!file) return;
    for (auto& [call, waited] : waits)
      std::fprintf(file, "{\"call\": \"%s\", \"calls\": %lu, \"seconds\": %.6f}\n", call.c_str(), waited.calls,
                   waited.seconds);
    std::fclose(file);
  }
};

Count& count() {
  static Count all;
  return all;
}

constexpr double at_once_s = 5e-6;

template <class... Arguments>
int timed(const char* call, Arguments... arguments) {
  using Call = int(Arguments...);
  auto* const real = reinterpret_cast<Call*>(dlsym(RTLD_NEXT, call));
  if (!real) return 999;  // cudaErrorUnknown: there is no runtime behind
  const auto begin = std::chrono::steady_clock::now();
  const int status = real(arguments...);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (seconds < at_once_s || ::gettid() != ::getpid()) return status;
  Count& all = count();
  const flowtrain::MutexLock lock(all.mutex);
  Waits& waits = all.waits[call];
  ++waits.calls;
  waits.seconds += seconds;
  return status;
}

}  // namespace

extern "C" {
int cudaDeviceSynchronize() { return timed("cudaDeviceSynchronize"); }
int cudaStreamSynchronize(void* stream) { return timed("cudaStreamSynchronize", stream); }
int cudaEventSynchronize(void* event) { return timed("cudaEventSynchronize", event); }
int cudaMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  return timed("cudaMemcpy", to, from, bytes, kind);
}
}
