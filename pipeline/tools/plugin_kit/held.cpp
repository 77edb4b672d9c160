#include "pipeline/tools/plugin_kit/held.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "pipeline/tools/plugin_kit/report.h"
#include "sampling/core/text.h"
#include "stages/trace/clock.h"

namespace flowtrain::plugin_kit {
namespace {

/// Returns the bytes that malloc has given out.
std::size_t heap_bytes() {
  const auto info = ::mallinfo2();
  return info.uordblks + info.hblkhd;
}

/// Returns the bytes of address space, including those of mmap.
std::size_t mapped_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

/// Returns whether each of the last three rounds took at least `least` bytes per call, unlike a cache that fills up.
bool grows(const std::array<std::size_t, 4>& held, std::size_t least) {
  for (std::size_t i = 1; i < held.size(); ++i)
    if (held[i] < held[i - 1] + least) return false;
  return true;
}

void check_left(const char* what, const char* folder, std::size_t before) {
  // A joined thread is listed for a moment longer.
  for (int attempt = 0; entries_of(folder) > before && attempt < 100; ++attempt)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const std::size_t after = entries_of(folder);
  if (after > before)
    throw CheckFailure{concat(after - before, " ", what, " left after it was made, used and destroyed 20 times"),
                       "end them when the object is destroyed"};
}

}  // namespace

void check_memory(const char* what, std::size_t calls, const std::function<void()>& call) {
  std::array<std::size_t, 4> heap{}, mapped{};
  for (std::size_t round = 0; round < heap.size(); ++round) {
    for (std::size_t i = 0; i < calls; ++i) call();
    heap[round] = heap_bytes();
    mapped[round] = mapped_bytes();
  }
  const bool heap_grows = grows(heap, 8 * calls);
  if (!heap_grows && !grows(mapped, 512 * calls)) return;
  const auto& held = heap_grows ? heap : mapped;
  throw CheckFailure{
      concat("memory grows by ", (held[3] - held[1]) / (2 * calls), " bytes with each ", what, " (", calls,
             " of them, three times)"),
      "free what the call allocates; keep scratch memory for the thread (thread_local) or in the object"};
}

void check_threads_and_files(const std::function<void()>& use) {
  use();  // lets the code make what it makes once per process
  const std::size_t threads = entries_of("/proc/self/task"), files = entries_of("/proc/self/fd");
  for (int i = 0; i < 20; ++i) use();
  check_left("threads are", "/proc/self/task", threads);
  check_left("files are", "/proc/self/fd", files);
}

double seconds_of(const std::function<void()>& call) {
  call();
  const auto start = std::chrono::steady_clock::now();
  std::size_t calls = 0;
  while (seconds_since(start) < 0.2 || calls == 0) call(), ++calls;
  return seconds_since(start) / static_cast<double>(calls);
}

std::size_t affordable_calls(const std::function<void()>& call) {
  call();
  const auto start = std::chrono::steady_clock::now();
  std::size_t calls = 0;
  while (calls < 1000 && (calls < 20 || seconds_since(start) < 0.2)) call(), ++calls;
  return calls;
}

}  // namespace flowtrain::plugin_kit
