// The decoder and the resize that `classify` uses, in a bare loop: threads that fill batches of 64, each its own, over
// and over. No order, no queues, no consumer: what a line over the same pictures could reach at best. Prints JSON.
//
//     build/release/bin/bench_bare_jpeg FOLDER_OR_TAR [workers] [seconds] [antialias|bilinear] [u8|f32]

#include <atomic>
#include <numeric>
#include <thread>
#include <utility>

#include "benchmarks/jpeg_work.h"
#include "sampling/core/mutex.h"

using namespace flowtrain;

namespace {

struct Shared {
  std::vector<std::vector<std::byte>> pictures;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> done{0};  ///< pictures
  Mutex mutex;
  std::exception_ptr error FT_GUARDED_BY(mutex);  ///< the last

  void fail(std::exception_ptr what) {
    const MutexLock lock(mutex);
    error = what;
    stop = true;
  }
};

/// One thread: batches until it is told to stop.
void fill_batches(const JpegTask& task, Shared& shared, std::uint64_t thread) {
  std::vector<std::uint8_t> batch(batch_pictures * row_bytes);
  std::vector<float> normalised(task.floats ? batch.size() : 0);
  std::vector<std::size_t> order(shared.pictures.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (std::uint64_t done = 0; !shared.stop; ++done) {
    Stream random(1, Purpose::sample, (thread << 40U) + done);  // threads share no draws
    const std::size_t at = done % order.size();                 // one step of Fisher and Yates' shuffle a picture
    std::swap(order[at], order[at + random.below(order.size() - at)]);
    const std::size_t place = done % batch_pictures * row_bytes;
    write_sample(shared.pictures[order[at]], task.filter, random, batch.data() + place);
    if (task.floats) normalise(batch.data() + place, normalised.data() + place);
    ++shared.done;
  }
}

void measure(const JpegTask& task) {
  using namespace std::chrono_literals;
  Shared shared{.pictures = load_pictures(task.path)};
  std::vector<std::jthread> threads;
  for (unsigned thread = 0; thread < task.workers; ++thread)
    threads.emplace_back([&, thread] {
      try {
        fill_batches(task, shared, thread);
      } catch (...) {
        shared.fail(std::current_exception());
      }
    });
  while (shared.done < batch_pictures && !shared.stop) std::this_thread::sleep_for(1ms);  // memory grows in this time
  const Meter meter;
  const std::uint64_t before = shared.done;
  while (meter.seconds() < task.seconds && !shared.stop) std::this_thread::sleep_for(1ms);
  if (!shared.stop) meter.print(shared.done - before);
  shared.stop = true;
  threads.clear();
  const MutexLock lock(shared.mutex);
  if (shared.error) std::rethrow_exception(shared.error);
}

}  // namespace

int main(int argc, char** argv) { return run_jpeg_task(argc, argv, measure); }
