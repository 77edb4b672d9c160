// What the graph costs: samples per second of a whole line whose sampler only copies 28 × 28 bytes, and the ratio to a
// bare loop that does nothing but copy the same records. Both in one run, so that the machine's mood cancels out.
//
//     build/release/bin/bench_line [seconds per row]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "pipeline/graph.h"
#include "sampling/order.h"

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

class Copy : public Sampler {
 public:
  std::vector<Field> fields() const override { return {{"image", DType::u8, {28, 28, 1}}}; }
  void sample(const Record& record, Stream&, Row row) const override {
    std::memcpy(row[0], record.bytes.data(), picture_bytes);
  }
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

// One thread: order, read, copy.
double bare_loop(const Dataset& dataset, const Order& order, double seconds) {
  std::vector<std::byte> row(picture_bytes);
  std::byte* const pointers[] = {row.data()};
  const Copy copy;
  ReadBuffer buffer;
  std::uint64_t done = 0;
  const auto begin = Clock::now();
  while (seconds_since(begin) < seconds)
    for (int i = 0; i < 1000; ++i, ++done) {
      Stream random(1, Purpose::sample, done);
      copy.sample(dataset.read(order.at(done / pictures, done % pictures), buffer), random, pointers);
    }
  return static_cast<double>(done) / seconds_since(begin);
}

double whole_line(const Dataset& dataset, const Order& order, unsigned workers, std::uint32_t batch, double seconds) {
  const Scheduler scheduler(workers);
  const Copy copy;
  const auto device = make_cpu_device();
  LineParts parts{"bench", dataset, order, copy, *device, Batches(pictures, batch, LastBatch::wrap)};
  parts.batch = batch;
  parts.workers = workers;
  parts.source = [next = std::uint64_t{0}]() mutable {
    Ticket ticket;
    ticket.iteration = ++next;
    return ticket;
  };
  Line line(parts);
  line.start();
  std::uint64_t done = 0;
  const auto begin = Clock::now();
  for (Ticket ticket; seconds_since(begin) < seconds && line.next(ticket); line.release(ticket)) done += batch;
  return static_cast<double>(done) / seconds_since(begin);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
  const Pictures dataset;
  const auto& shuffle = orders().at("shuffle");
  const auto order = shuffle.make(Settings("order", shuffle.keys), {dataset, 1});
  std::printf("%-8s %6s %14s %22s\n", "workers", "batch", "samples/s", "of a bare loop's, 1 thread");
  for (unsigned workers : {1u, 2u})
    for (std::uint32_t batch : {64u, 256u, 1024u}) {
      const double bare = bare_loop(dataset, *order, seconds / 2);
      const double line = whole_line(dataset, *order, workers, batch, seconds);
      std::printf("%-8u %6u %14.0f %22.2f\n", workers, batch, line, line / bare);
    }
}
