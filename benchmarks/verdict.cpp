// Whether verdicts are right: twenty synthetic pipelines, whose stages take the time that a table says. They sleep, so
// that two cores suffice for all of them; each runs at the same time as one with one worker more, so that both meet the
// same machine. Prints for each what limits it and what the model says, and the gain of one more worker as predicted
// and as measured. Ends with 1 where fewer than 19 limits or 19 gains (within 20 %) are right.
//
//     build/release/bin/bench_verdict [seconds per measurement]

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "pipeline/engine/graph/graph.h"
#include "pipeline/engine/verdict/load_meter.h"
#include "sampling/core/mutex.h"
#include "sampling/core/random.h"
#include "stages/trace/clock.h"
#include "tests/support/fakes.h"

using namespace flowtrain;

namespace {

constexpr std::uint64_t records = 10'000;
constexpr std::uint32_t batch = 8;

void rest(double milliseconds) {
  if (milliseconds > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
}

/// Times in milliseconds.
struct Case {
  const char* name;
  Limit limit;  ///< the limit that follows from the table's times
  unsigned workers = 2, readers = 1;
  double read = 0.5, decode = 2;  ///< times per sample
  double locked = 0;              ///< time per sample with the sampler's lock held
  double pin = 0, compute = 4;    ///< times per batch
  double spread = 0;              ///< varies decoding: at 1, some samples take no time and some twice as long
  std::uint32_t prefetch = 4;
};

class SlowFiles : public Dataset {
 public:
  explicit SlowFiles(double read_ms) : read_ms_(read_ms) {}
  std::uint64_t size() const override { return records; }
  Record read(std::uint64_t id, ReadBuffer&) const override {
    rest(read_ms_);
    Record record;
    record.id = id;
    record.encoding = Encoding::pixels;
    record.height = record.width = record.channels = 1;
    record.label = 0;
    record.bytes = {&byte_, 1};
    return record;
  }
  std::int64_t label(std::uint64_t) const override { return 0; }
  std::vector<std::string> classes() const override { return {"all"}; }
  std::string describe(std::uint64_t id) const override { return std::to_string(id); }

 private:
  const double read_ms_;
  const std::byte byte_{1};
};

class SlowSampler : public Sampler {
 public:
  explicit SlowSampler(const Case& times) : times_(times) {}
  std::vector<Field> fields() const override { return {{"image", DType::u8, {1, 1, 1}}}; }
  void sample(const Record&, Stream& random, Row row) const override {
    std::memset(row[0], 1, 1);
    rest(times_.decode * (1 + times_.spread * (2 * random.uniform() - 1)));
    if (times_.locked <= 0) return;
    MutexLock lock(mutex_);
    rest(times_.locked);
  }

 private:
  const Case& times_;
  mutable Mutex mutex_;
};

class Shuffled : public Order {
 public:
  std::uint64_t size() const override { return records; }
  std::uint64_t at(std::uint64_t epoch, std::uint64_t index) const override {
    return Permutation(records, mix64(epoch))(index);
  }
};

/// The CPU, posing as a device whose copies take a while.
class SlowDevice : public testing::CopyingDevice {
 public:
  explicit SlowDevice(double copy_ms) : copy_ms_(copy_ms) {}
  std::string name() const override { return "slow"; }
  bool copies() const override { return copy_ms_ > 0; }
  void start_copy(std::uint32_t slot, void* to, const void* from, std::size_t bytes) override {
    rest(copy_ms_);
    CopyingDevice::start_copy(slot, to, from, bytes);
  }

 private:
  const double copy_ms_;
};

PipelineLoad measure(const Case& times, unsigned workers, double seconds) {
  const SlowFiles dataset(times.read);
  const SlowSampler sampler(times);
  const Shuffled order;
  SlowDevice device(times.pin);
  LoaderParts parts{"bench", dataset, order, sampler, device, Batches(records, batch, LastBatch::drop)};
  parts.batch = batch;
  parts.shape.workers = workers;
  parts.shape.readers = times.readers;
  parts.shape.prefetch = times.prefetch;
  parts.tries_threads = true;
  Loader loader(std::move(parts));
  ConsumerTimes consumer;
  const auto step = [&] {
    const auto asked = std::chrono::steady_clock::now();
    Ticket ticket;
    if (!loader.next(ticket)) std::abort();
    consumer.wait_s += seconds_since(asked);
    rest(times.compute);
    consumer.samples += loader.slab(ticket).rows().size();
    loader.release(ticket);
  };
  loader.start();
  for (std::uint32_t warm_up = 0; warm_up < 2 * times.prefetch + 4; ++warm_up) step();
  consumer = {};
  const LoadMeter meter(loader, consumer);
  const auto begin = std::chrono::steady_clock::now();
  while (seconds_since(begin) < seconds) step();
  consumer.wall_s = seconds_since(begin);
  auto load = meter.load(consumer);
  loader.stop();
  return load;
}

double rate(const PipelineLoad& load) { return load.samples / load.wall_s; }

const std::vector<Case> cases{
    {.name = "slow read, 1 reader", .limit = Limit::read, .read = 8, .decode = 4, .compute = 16},
    {.name = "slow read, 2 readers", .limit = Limit::read, .readers = 2, .read = 16, .decode = 8, .compute = 16},
    {.name = "slow read, 4 workers", .limit = Limit::read, .workers = 4, .read = 8, .decode = 8, .compute = 24},
    {.name = "slow read, decode close", .limit = Limit::read, .read = 8, .decode = 12, .compute = 40},
    {.name = "slow decode, 1 worker", .limit = Limit::sample, .workers = 1, .decode = 8, .compute = 16},
    {.name = "slow decode, 2 workers", .limit = Limit::sample, .decode = 16, .compute = 16},
    {.name = "slow decode, 3 workers", .limit = Limit::sample, .workers = 3, .decode = 24, .compute = 24},
    {.name = "slow decode, 4 workers", .limit = Limit::sample, .workers = 4, .decode = 32, .compute = 32},
    {.name = "slow decode, compute close", .limit = Limit::sample, .decode = 16, .compute = 52},
    {.name = "slow decode, read close", .limit = Limit::sample, .workers = 1, .read = 6, .decode = 8, .compute = 16},
    {.name = "decode of varying time", .limit = Limit::sample, .decode = 16, .compute = 32, .spread = 1},
    {.name = "slow decode, one batch ahead", .limit = Limit::sample, .decode = 16, .compute = 32, .prefetch = 1},
    {.name = "slow pin", .limit = Limit::transfer, .decode = 8, .pin = 60, .compute = 32},
    {.name = "slow pin, 1 worker", .limit = Limit::transfer, .workers = 1, .decode = 4, .pin = 80, .compute = 16},
    {.name = "slow compute", .limit = Limit::compute, .decode = 8, .compute = 80},
    {.name = "slow compute, 4 workers", .limit = Limit::compute, .workers = 4, .decode = 16, .compute = 60},
    {.name = "slow compute, decode close", .limit = Limit::compute, .decode = 12, .compute = 60},
    {.name = "locked sampler, 2 workers", .limit = Limit::sample, .decode = 0.5, .locked = 8, .compute = 16},
    {.name = "locked sampler, 3 workers",
     .limit = Limit::sample,
     .workers = 3,
     .decode = 0.5,
     .locked = 8,
     .compute = 16},
    {.name = "half-locked sampler, 4 workers",
     .limit = Limit::sample,
     .workers = 4,
     .decode = 8,
     .locked = 8,
     .compute = 16},
};

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 15;
  std::printf(
      "| pipeline | limits | named | share | one more worker: predicted | measured | "
      "|\n|---|---|---|---|---|---|---|\n");
  int named = 0, within = 0;
  for (auto& each : cases) {
    const Scheduler scheduler(2 * each.workers + 1);
    auto beside = std::async(std::launch::async, [&] { return measure(each, each.workers + 1, seconds); });
    const PipelineLoad load = measure(each, each.workers, seconds), more = beside.get();
    const Verdict verdict = judge(load);
    const double predicted = verdict.gains.front().speedup, gained = rate(more) / rate(load);
    const bool right = verdict.limit == each.limit, near = std::abs(predicted / gained - 1) <= 0.2;
    named += right;
    within += near;
    std::printf("| %s | %s | %s | %.0f %% | %.2f | %.2f | %s |\n", each.name, to_text(each.limit),
                to_text(verdict.limit), 100 * verdict.share, predicted, gained,
                right && near ? "" : (right ? "gain" : "limit"));
    std::fflush(stdout);
  }
  const auto all = static_cast<int>(cases.size());
  std::printf("\nlimits named: %d of %d; gains within 20 %%: %d of %d\n", named, all, within, all);
  return named >= all - 1 && within >= all - 1 ? 0 : 1;
}
