// Measures the cost of the graph: samples per second of a whole loader whose sampler, `copy`, only copies 28 × 28 bytes
// or makes floats of them, called for each row or for blocks of rows. For comparison, a bare loop does the same without
// a graph, and memcpy copies as many bytes as come out, one batch at a time from fresh memory into that of a loader.
// All of this is measured in one run, so that changes of the machine's speed cancel out.
//
//     build/release/bin/bench_loader [seconds per row]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "pipeline/engine/graph/graph.h"
#include "sampling/core/registry.h"
#include "sampling/order.h"
#include "stages/trace/clock.h"

using namespace flowtrain;

namespace {

constexpr std::size_t picture_bytes = 28 * 28;
constexpr std::uint64_t pictures = 60'000;

class Pictures : public Dataset {
 public:
  std::uint64_t size() const override { return pictures; }
  Record read(std::uint64_t id, ReadBuffer&) const override {
    Record record;
    record.id = id;
    record.encoding = Encoding::pixels;
    record.height = record.width = 28, record.channels = 1;
    record.label = 0;
    record.bytes = {bytes_.data() + id * picture_bytes, picture_bytes};
    return record;
  }
  std::int64_t label(std::uint64_t) const override { return 0; }
  std::vector<std::string> classes() const override { return {"all"}; }
  std::string describe(std::uint64_t id) const override { return std::to_string(id); }
  bool resident() const override { return true; }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(pictures * picture_bytes, std::byte{1});
};

/// Makes the same rows with a call for each.
class OneByOne : public Sampler {
 public:
  explicit OneByOne(const Sampler& sampler) : sampler_(sampler) {}
  std::vector<Field> fields() const override { return sampler_.fields(); }
  void sample(const Record& record, Stream& random, Row row) const override { sampler_.sample(record, random, row); }

 private:
  const Sampler& sampler_;
};

using Clock = std::chrono::steady_clock;

/// Returns how many times per second `body(thread)` runs on `threads` threads.
template <class Body>
double per_second(unsigned threads, double seconds, Body body) {
  std::vector<std::uint64_t> done(threads * 16);  // far apart
  const auto begin = Clock::now();
  {
    std::vector<std::jthread> pool;
    for (unsigned thread = 0; thread < threads; ++thread)
      pool.emplace_back([&, thread] {
        while (seconds_since(begin) < seconds) done[thread * 16] += body(thread);
      });
  }
  std::uint64_t sum = 0;
  for (const auto count : done) sum += count;
  return static_cast<double>(sum) / seconds_since(begin);
}

// Order, read, sample into one row.
double bare_loop(const Dataset& dataset, const Order& order, const Sampler& sampler, unsigned threads, double seconds) {
  const std::size_t row_bytes = sampler.fields()[0].row_bytes();
  std::vector<std::vector<std::byte>> rows(threads, std::vector<std::byte>(row_bytes + sizeof(std::int64_t)));
  std::vector<std::uint64_t> next(threads * 16);
  return per_second(threads, seconds, [&](unsigned thread) {
    std::byte* const pointers[] = {rows[thread].data(), rows[thread].data() + row_bytes};
    ReadBuffer buffer;
    for (int i = 0; i < 1000; ++i) {
      const std::uint64_t position = next[thread * 16]++ * threads + thread;
      Stream random(1, Purpose::sample, position);
      sampler.sample(dataset.read(order.at(position / pictures, position % pictures), buffer), random, pointers);
    }
    return std::uint64_t{1000};
  });
}

double plain_copies(std::size_t row_bytes, std::uint32_t batch, unsigned threads, double seconds) {
  const std::size_t batch_bytes = row_bytes * batch, batches = pictures / batch, slabs = Loader::slabs(4);
  const std::vector<std::byte> source(batch_bytes * batches, std::byte{1});
  std::vector<std::vector<std::byte>> into(threads, std::vector<std::byte>(batch_bytes * slabs / threads));
  std::vector<std::uint64_t> next(threads * 16);
  return per_second(threads, seconds, [&](unsigned thread) {
    const std::uint64_t number = next[thread * 16]++, own = std::max<std::uint64_t>(1, slabs / threads);
    std::memcpy(into[thread].data() + number % own * batch_bytes,
                source.data() + (number * threads + thread) % batches * batch_bytes, batch_bytes);
    return std::uint64_t{batch};
  });
}

double whole_line(const Dataset& dataset, const Order& order, const Sampler& sampler, unsigned workers,
                  std::uint32_t batch, double seconds) {
  const Scheduler scheduler(workers);
  const auto device = make_cpu_device();
  LoaderParts parts{"bench", dataset, order, sampler, *device, Batches(pictures, batch, LastBatch::wrap)};
  parts.batch = batch;
  parts.shape.workers = workers;
  Loader loader(parts);
  loader.start();
  std::uint64_t done = 0;
  const auto begin = Clock::now();
  for (Ticket ticket; seconds_since(begin) < seconds && loader.next(ticket); loader.release(ticket)) done += batch;
  return static_cast<double>(done) / seconds_since(begin);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 1;
  const Pictures dataset;
  const auto& shuffle = orders().at("shuffle");
  const auto order = shuffle.make(Settings("order", shuffle.keys), {dataset, 1});
  const auto& copy = samplers().at("copy");
  std::printf("million samples/s; of the bare loop on as many threads; of memcpy\n");
  std::printf("%-5s %7s %6s %6s %8s %22s %22s\n", "dtype", "workers", "batch", "bare", "memcpy", "a call a row",
              "blocks");
  for (const char* dtype : {"u8", "f32"}) {
    Settings settings("sampler", copy.keys);
    settings.set("dtype", std::string(dtype), {});
    const auto blocks = copy.make(settings, {dataset, true});
    const OneByOne calls(*blocks);
    for (const unsigned workers : {1u, 2u})
      for (const std::uint32_t batch : {64u, 256u, 1024u}) {
        const double bare = bare_loop(dataset, *order, calls, workers, seconds);
        const double memcpy = plain_copies(blocks->fields()[0].row_bytes(), batch, workers, seconds);
        const double one = whole_line(dataset, *order, calls, workers, batch, seconds);
        const double many = whole_line(dataset, *order, *blocks, workers, batch, seconds);
        std::printf("%-5s %7u %6u %6.2f %8.2f %8.2f (%4.2f, %4.2f) %8.2f (%4.2f, %4.2f)\n", dtype, workers, batch,
                    bare / 1e6, memcpy / 1e6, one / 1e6, one / bare, one / memcpy, many / 1e6, many / bare,
                    many / memcpy);
        std::fflush(stdout);
      }
  }
}
