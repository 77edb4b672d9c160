#include "stages/loader/slab.h"

#include <doctest/doctest.h>

#include <thread>

#include "sampling/batches.h"
#include "sampling/core/error.h"

namespace flowtrain::slab_test {

TEST_CASE("fields lie one after the other, each aligned to 64 bytes") {
  const SlabLayout layout({{"image", DType::u8, {5, 7, 3}}, {"label", DType::i64, {}}, {"box", DType::f32, {4}}}, 3);
  CHECK(layout.offset(0) == 0);
  CHECK(layout.offset(1) == 320);  // 3 · 105 = 315
  CHECK(layout.offset(2) == 384);
  CHECK(layout.bytes() == 448);
  const auto device = make_cpu_device();
  Slab slab(layout, *device);
  CHECK(reinterpret_cast<std::uintptr_t>(slab.host()) % 64 == 0);
  CHECK(slab.device() == slab.host());
  std::byte* rows[3];
  slab.row_pointers({.place = {.row = 2}}, rows);
  CHECK(rows[0] == slab.host() + 210);
  CHECK(rows[1] == slab.host() + 320 + 16);
}

TEST_CASE("chunks cover every row once, whatever the numbers") {
  const auto device = make_cpu_device();
  const SlabLayout layout({{"x", DType::u8, {1}}}, 29);
  Slab slab(layout, *device);
  for (std::uint32_t rows : {1u, 2u, 13u, 28u, 29u})
    for (std::uint32_t chunks = 1; chunks <= rows; ++chunks) {
      slab.begin({}, 0, rows, chunks);
      std::uint32_t seen = 0;
      for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
        CHECK(slab.chunk(chunk).data() == slab.rows().data() + seen);
        CHECK(!slab.chunk(chunk).empty());
        seen += static_cast<std::uint32_t>(slab.chunk(chunk).size());
        CHECK(slab.chunk_done() == (chunk + 1 == chunks));
      }
      CHECK(seen == rows);
    }
}

TEST_CASE("the first error of a batch is kept, and the next batch starts without it") {
  const auto device = make_cpu_device();
  const SlabLayout layout({{"x", DType::u8, {1}}}, 4);
  Slab slab(layout, *device);
  slab.begin({}, 0, 4, 2);
  slab.fail(std::make_exception_ptr(std::runtime_error("first")));
  slab.fail(std::make_exception_ptr(std::runtime_error("second")));
  CHECK_THROWS_WITH(std::rethrow_exception(slab.error()), "first");
  slab.begin({}, 0, 4, 2);
  CHECK(slab.error() == nullptr);
}

TEST_CASE("a chunk may ask for the error of its batch while another chunk fails") {  // the thread sanitizer watches
  const auto device = make_cpu_device();
  const SlabLayout layout({{"x", DType::u8, {1}}}, 4);
  Slab slab(layout, *device);
  slab.begin({}, 0, 4, 2);
  const std::jthread other([&] { slab.fail(std::make_exception_ptr(std::runtime_error("first"))); });
  while (!slab.error()) std::this_thread::yield();
}

TEST_CASE("batches and epochs") {
  const Batches wrap(10, 4, LastBatch::wrap), drop(10, 4, LastBatch::drop), pad(10, 4, LastBatch::pad);
  CHECK(wrap.per_epoch() == 3);
  CHECK(drop.per_epoch() == 2);
  CHECK(pad.per_epoch() == 3);
  CHECK(wrap.rows(2) == 4);
  CHECK(pad.rows(2) == 2);
  CHECK(pad.rows(5) == 2);
  CHECK(wrap.index(2, 3) == 1);
  CHECK(wrap.epoch(3) == 1);
  CHECK(wrap.index(3, 0) == 0);
  CHECK(wrap.position(3, 1) == 13);
  CHECK_THROWS_AS(Batches(3, 4, LastBatch::drop), UserError);
}

TEST_CASE("a stream that begins in the middle goes on with the samples, whatever the batch") {
  for (const auto last : {LastBatch::pad, LastBatch::drop})
    for (const std::uint64_t done : {0, 3, 4, 9, 10}) {
      CAPTURE(done);
      const Batches batches(10, 4, last, 2, done);
      std::vector<std::uint64_t> rest;
      std::uint64_t number = 0;
      for (; batches.epoch(number) == 2; ++number)
        for (std::uint64_t row = 0; row < batches.rows(number); ++row) {
          rest.push_back(batches.index(number, row));
          CHECK(batches.position(number, row) == 2 * 10 + rest.back());
        }
      std::vector<std::uint64_t> expected;
      for (std::uint64_t sample = done; sample < 10; ++sample) expected.push_back(sample);
      if (last == LastBatch::drop) expected.resize(expected.size() / 4 * 4);
      CHECK(rest == expected);
      CHECK(batches.epoch(number) == 3);
      CHECK(batches.index(number, 1) == 1);
      CHECK(batches.position(number + batches.per_epoch(), 0) == 4 * 10);
    }
}

TEST_CASE("a batch leaves with its memory, and its slab goes on with other memory") {
  const auto device = make_cpu_device();
  const SlabLayout layout({{"x", DType::u8, {1}}}, 4);
  Slab slab(layout, *device);
  std::byte* const first = slab.host();
  auto* const second = static_cast<std::byte*>(device->allocate_host(layout.bytes()));
  CHECK(slab.exchange_memory(second) == first);
  CHECK(slab.host() == second);
  CHECK(slab.device() == second);
  device->free_host(first);
}

}  // namespace flowtrain::slab_test
