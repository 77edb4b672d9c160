#pragma once
// Helpers that the files of flowtrain._core share: waits without the GIL, arrays that own their memory.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "pipeline/base/config/config.h"
#include "pipeline/engine/loader/epoch_cursor.h"
#include "sampling/core/mutex.h"

namespace flowtrain {

namespace nb = nanobind;

/// Values of keys, as TOML writes them.
using Pairs = std::vector<std::pair<std::string, std::string>>;

inline std::vector<Override> overrides_of(const Pairs& pairs) {
  std::vector<Override> overrides;
  for (const auto& [key, value] : pairs) overrides.push_back({key, value, "argument"});
  return overrides;
}

/// Adds the class SampleStream: python/sample_stream.cpp.
void add_sample_stream(nb::module_& module);

/// {"epoch", "samples", "batches_left"}, as Loader.position() returns it.
inline nb::dict position_of(const EpochCursor& cursor) {
  nb::dict position;
  position["epoch"] = cursor.position().epoch;
  position["samples"] = cursor.position().samples;
  position["batches_left"] = cursor.batches_left();
  return position;
}

/// A NumPy array of memory that lives as long as the array, and whatever shares it.
template <class Held>
nb::object array_of(void* data, const std::vector<std::size_t>& shape, nb::dlpack::dtype dtype, Held held) {
  auto owned = std::make_unique<Held>(std::move(held));
  const nb::capsule owner(owned.get(), [](void* pointer) noexcept { delete static_cast<Held*>(pointer); });
  static_cast<void>(owned.release());
  return nb::cast(nb::ndarray<nb::numpy>(data, shape.size(), shape.data(), owner, nullptr, dtype),
                  nb::rv_policy::reference);
}

/// Set when the interpreter begins to end. A thread that takes the GIL after that is unwound by force, which ends the
/// process: threads that are still outside stay there.
inline std::atomic<bool> ending{false};
inline std::atomic<int> threads_outside{0};

/// Runs `body` without the GIL.
template <class Body>
void without_gil(Body body) {
  if (ending) throw std::runtime_error("the interpreter ends");
  PyThreadState* const thread = PyEval_SaveThread();
  ++threads_outside;
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  if (ending) {
    --threads_outside;
    for (;;) pause();
  }
  PyEval_RestoreThread(thread);
  --threads_outside;
  if (error) std::rethrow_exception(error);
}

inline Mutex making;

/// oneTBB's threads do not exist in a forked process, and a lock that one of them held at the fork is never unlocked
/// there. The first flag is set in a process that opens a native loader, the second one in the processes forked later.
inline std::atomic<bool> has_had_loaders{false}, was_forked_with_loaders{false};
inline constexpr const char* made_before_fork =
    "a loader was made before a fork, and its threads and locks are not in this process: start processes by "
    "multiprocessing's 'spawn' or 'forkserver' in place of 'fork', or fork before the first loader is made";

/// Throws std::runtime_error in a process that was forked from one with loaders. It is called before data are opened.
inline void check_not_forked() {
  if (was_forked_with_loaders) throw std::runtime_error(made_before_fork);
}

/// without_gil() for what opens plugins, one at a time: they change the registries, which everything that is made
/// reads.
template <class Body>
void make_without_gil(Body body) {
  without_gil([&] {
    const MutexLock lock(making);
    body();
  });
}

/// Waits until no other thread is returning to Python. Python's atexit calls it.
inline void end_interpreter() {
  ending = true;
  const nb::gil_scoped_release unlocked;
  for (int ms = 0; threads_outside > 0 && ms < 10'000; ++ms) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

}  // namespace flowtrain
