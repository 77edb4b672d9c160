// Counts how often a program waits for its GPU: to be preloaded (LD_PRELOAD) before a program that links CUDA's runtime
// as a shared library. When the program ends it appends to the file that COUNT_WAITS names a line of JSON for each call
// and thread: {"call", "thread", "calls", "seconds"}.

#include <dlfcn.h>
#include <pthread.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "sampling/mutex.h"

namespace {

struct Waits {
  unsigned long calls = 0;
  double seconds = 0;
};

struct Count {
  flowtrain::Mutex mutex;
  std::map<std::pair<std::string, std::string>, Waits> waits FT_GUARDED_BY(mutex);  // by call and thread

  ~Count() {
    const char* path = std::getenv("COUNT_WAITS");
    std::FILE* file = path ? std::fopen(path, "a") : nullptr;
    if (!file) return;
    for (auto& [place, waited] : waits)
      std::fprintf(file, "{\"call\": \"%s\", \"thread\": \"%s\", \"calls\": %lu, \"seconds\": %.6f}\n",
                   place.first.c_str(), place.second.c_str(), waited.calls, waited.seconds);
    std::fclose(file);
  }
};

Count& count() {
  static Count all;
  return all;
}

template <class... Arguments>
int timed(const char* call, Arguments... arguments) {
  using Call = int(Arguments...);
  auto* const real = reinterpret_cast<Call*>(dlsym(RTLD_NEXT, call));
  if (!real) return 999;  // cudaErrorUnknown: there is no runtime behind
  const auto begin = std::chrono::steady_clock::now();
  const int status = real(arguments...);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::array<char, 16> thread{};
  pthread_getname_np(pthread_self(), thread.data(), thread.size());
  Count& all = count();
  const flowtrain::MutexLock lock(all.mutex);
  Waits& waits = all.waits[{call, thread.data()}];
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
