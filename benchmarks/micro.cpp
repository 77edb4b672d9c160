// The parts that every sample passes: queue, permutation, random numbers, decoding, resizing, gathering; and what is
// written down of batches and collectives.
//
//     build/release/bin/bench_micro [--benchmark_filter=…]       (Google Benchmark)

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "pipeline/base/snapshot/hash.h"
#include "sampling/core/random.h"
#include "sampling/images/resize.h"
#include "sampling/images/stored_picture.h"
#include "sampling/order.h"
#include "stages/core/bounded_queue.h"
#include "stages/core/ticket.h"
#include "stages/torch/parallel/collective_log.h"
#include "tests/support/pictures.h"

namespace flowtrain {
namespace {

/// A smooth field of -1 … 1 whose details are about `cell` pixels wide.
float waves(int y, int x, int cell, std::uint64_t seed) {
  const auto at = [&](int row, int column) {
    const auto point = static_cast<std::uint64_t>(row) << 32 | static_cast<std::uint32_t>(column);
    return static_cast<float>(mix64(seed ^ (point * 0x9e3779b97f4a7c15ULL)) >> 40) / (1 << 23) - 1;
  };
  const auto smooth = [](float t) { return t * t * (3 - 2 * t); };
  const int row = y / cell, column = x / cell;
  const float down = smooth(static_cast<float>(y % cell) / static_cast<float>(cell));
  const float across = smooth(static_cast<float>(x % cell) / static_cast<float>(cell));
  const float above = at(row, column) + across * (at(row, column + 1) - at(row, column));
  const float below = at(row + 1, column) + across * (at(row + 1, column + 1) - at(row + 1, column));
  return above + down * (below - above);
}

/// About as hard to decode as a photograph: like one, it has the less of a detail the finer that is (D. J. Field,
/// 1987), in colours less than in light, and a sensor's noise. `bits` of decode() says how large files become.
Image picture(int height, int width) {
  Image image;
  image.reshape(height, width, 3);
  std::uint32_t state = 1;
  std::size_t i = 0;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      float light = 128, hue[3] = {};
      float strength = 60;
      for (int cell = 512; cell >= 2; cell /= 2, strength *= 0.6f) {
        light += strength * waves(y, x, cell, 1);
        if (cell < 16) continue;
        for (std::uint64_t c = 0; c < 3; ++c) hue[c] += 0.4f * strength * waves(y, x, cell, 2 + c);
      }
      for (const float own : hue) {
        state = state * 1664525u + 1013904223u;
        image.pixels[i++] =
            static_cast<std::uint8_t>(std::clamp(light + own + static_cast<float>(state >> 30), 0.0f, 255.0f));
      }
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

/// Whole picture, then a resize to 224 x 224; or only what that needs. Arguments: height, width, with details or only
/// slopes, whole or not.
void decode(benchmark::State& state) {
  const int height = static_cast<int>(state.range(0)), width = static_cast<int>(state.range(1));
  const auto file = encode_jpeg(state.range(2) != 0 ? picture(height, width) : gradient_picture(height, width, 3),
                                false, {.quality = 90});
  Record record;
  record.encoding = Encoding::image;
  record.bytes = file;
  Image whole;
  std::vector<std::uint8_t> out(224 * 224 * 3);
  const Rect all{0, 0, static_cast<double>(width), static_cast<double>(height)};
  for (auto _ : state) {
    if (state.range(3) != 0) {
      resize(picture_of(record, whole), all, Filter::antialias, false, 224, 224, out.data());
    } else {
      StoredPicture stored(record);
      const auto part = stored.decode(all, {0, 0, height, width}, 224, 224);
      resize(part.picture, part.from, Filter::antialias, false, 224, 224, out.data());
    }
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["bits"] =
      8.0 * static_cast<double>(file.size()) / (static_cast<double>(height) * width);  // bits of a pixel
}
BENCHMARK(decode)
    ->ArgNames({"height", "width", "details", "whole"})
    ->ArgsProduct({{480}, {640}, {1}, {1, 0}})
    ->ArgsProduct({{1500}, {2000}, {1, 0}, {1, 0}})
    ->Unit(benchmark::kMicrosecond);

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
BENCHMARK(resize_to_224)
    ->ArgNames({"side", "antialias"})
    ->ArgsProduct({{160, 320, 640}, {1, 0}})
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

/// Measures the hash of the order for a batch of 256.
void order_hash(benchmark::State& state) {
  const std::vector<std::uint64_t> ids(256, 7);
  Xxh64 hash;
  for (auto _ : state) hash.update(std::as_bytes(std::span(ids)));
  benchmark::DoNotOptimize(hash.hex());
}
BENCHMARK(order_hash);

/// Measures the flight record of a collective.
void collective_log(benchmark::State& state) {
  CollectiveLog record;
  for (auto _ : state) {
    record.leave(record.enter("the averaging of gradients"));
  }
}
BENCHMARK(collective_log);

}  // namespace
}  // namespace flowtrain

BENCHMARK_MAIN();
