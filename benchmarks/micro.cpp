// The parts that every sample passes: queue, permutation, random numbers, decoding, resizing, gathering.
//
//     build/release/bin/bench_micro [--benchmark_filter=…]       (Google Benchmark)

#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "sampling/codecs/image.h"
#include "sampling/images/resize.h"
#include "sampling/order.h"
#include "sampling/random.h"
#include "stages/bounded_queue.h"
#include "stages/ticket.h"
#include "tests/sampling/pictures.h"

namespace flowtrain {
namespace {

/// Slopes and noise, about as hard to decode as a photograph.
Image picture(int height, int width) {
  Image image;
  image.reshape(static_cast<std::uint64_t>(height), static_cast<std::uint64_t>(width), 3);
  std::uint32_t state = 1;
  std::size_t i = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c) {
        state = state * 1664525u + 1013904223u;
        image.pixels[i++] = static_cast<std::uint8_t>((x * (c + 1) / 3 + y + (x * y >> 9)) % 200 + (state >> 30));
      }
  return image;
}

void queue(benchmark::State& state) {
  BoundedQueue<Ticket> tickets(64);
  Ticket ticket;
  for (auto _ : state) {
    tickets.try_push(ticket);
    tickets.pop(ticket);
  }
}
BENCHMARK(queue);

void permutation(benchmark::State& state) {
  const Permutation shuffled(static_cast<std::uint64_t>(state.range(0)), 42);
  std::uint64_t position = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(shuffled(position));
    if (++position == static_cast<std::uint64_t>(state.range(0))) position = 0;
  }
}
BENCHMARK(permutation)->Arg(1000)->Arg(1'281'167)->Arg(10'000'000'000);

void random_uniform(benchmark::State& state) {
  Stream random(1, Purpose::sample, 7);
  for (auto _ : state) benchmark::DoNotOptimize(random.uniform());
}
BENCHMARK(random_uniform);

void random_stream(benchmark::State& state) {
  std::uint64_t position = 0;
  for (auto _ : state) {
    Stream random(1, Purpose::sample, ++position);
    benchmark::DoNotOptimize(random.next());
  }
}
BENCHMARK(random_stream);

/// Whole picture, then a resize to 224 x 224; or only what that needs. Arguments: height, width, whole or not.
void decode(benchmark::State& state) {
  const int height = static_cast<int>(state.range(0)), width = static_cast<int>(state.range(1));
  const auto file = encode_jpeg(picture(height, width), false, {.quality = 90});
  Record record;
  record.encoding = Encoding::image;
  record.bytes = file;
  Image whole;
  std::vector<std::uint8_t> out(224 * 224 * 3);
  const Rect all{0, 0, static_cast<double>(width), static_cast<double>(height)};
  for (auto _ : state) {
    if (state.range(2) != 0) {
      resize(picture_of(record, whole), all, Filter::antialias, false, 224, 224, out.data());
    } else {
      StoredPicture stored(record, Warnings::bad);
      const auto part = stored.decode(all, {0, 0, height, width}, 224, 224);
      resize(part.picture, part.from, Filter::antialias, false, 224, 224, out.data());
    }
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(decode)->ArgNames({"height", "width", "whole"})->ArgsProduct({{480}, {640}, {1, 0}})
    ->ArgsProduct({{1500}, {2000}, {1, 0}})->Unit(benchmark::kMicrosecond);

void resize_to_224(benchmark::State& state) {
  const Image from = picture(static_cast<int>(state.range(0)), static_cast<int>(state.range(0)));
  const auto filter = state.range(1) != 0 ? Filter::antialias : Filter::bilinear;
  const double side = static_cast<double>(state.range(0));
  std::vector<std::uint8_t> out(224 * 224 * 3);
  for (auto _ : state) {
    resize(from.view(), {0, 0, side, side}, filter, false, 224, 224, out.data());
    benchmark::DoNotOptimize(out.data());
  }
}
BENCHMARK(resize_to_224)->ArgNames({"side", "antialias"})->ArgsProduct({{160, 320, 640}, {1, 0}})
    ->Unit(benchmark::kMicrosecond);

/// 256 rows of 28 x 28 bytes from 60,000, in a shuffled order; bytes per second.
void gather(benchmark::State& state) {
  constexpr std::size_t row_bytes = 784, rows = 60'000, batch = 256;
  const std::vector<std::byte> from(rows * row_bytes, std::byte{1});
  std::vector<std::byte> to(batch * row_bytes);
  const Permutation shuffled(rows, 1);
  std::uint64_t position = 0;
  for (auto _ : state) {
    for (std::size_t i = 0; i < batch; ++i)
      std::memcpy(to.data() + i * row_bytes, from.data() + shuffled(position++ % rows) * row_bytes, row_bytes);
    benchmark::DoNotOptimize(to.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(batch * row_bytes));
}
BENCHMARK(gather);

}  // namespace
}  // namespace flowtrain

BENCHMARK_MAIN();
