#pragma once
// Small parts for tests of the graph: data in memory or behind a "file", samplers that copy, fail or wait.

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "pipeline/engine/graph/graph.h"
#include "stages/model/compute.h"

namespace flowtrain::testing {

/// The CPU posing as a device with a memory of its own, so that a loader has its transfer thread.
class CopyingDevice : public Device {
 public:
  std::string name() const override { return "copying"; }
  bool copies() const override { return true; }
  void* allocate_host(std::size_t bytes) override { return std::malloc(bytes); }
  void free_host(void* memory) noexcept override { std::free(memory); }
  void* allocate_device(std::size_t bytes) override { return std::malloc(bytes); }
  void free_device(void* memory) noexcept override { std::free(memory); }
  void start_copy(std::uint32_t, void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
  }
  void wait_copy(std::uint32_t) override {}
  void consumed(std::uint32_t) override {}
  void wait_host_free(std::uint32_t) override {}
  void normalise(const std::uint8_t*, float*, std::size_t, int, const float*, const float*) override {}
  void mix(const std::uint8_t*, float*, std::size_t, const PictureShape&, const PixelRule&, const PixelMix&) override {}
};

/// `count` records of `bytes` bytes; byte i of record id is id + i. Bad ids throw SampleError.
class FakeDataset : public Dataset {
 public:
  FakeDataset(std::uint64_t count, std::size_t bytes, bool resident)
      : count_(count), bytes_(bytes), resident_(resident), data_(count * bytes) {
    for (std::uint64_t id = 0; id < count; ++id)
      for (std::size_t i = 0; i < bytes; ++i) data_[id * bytes + i] = static_cast<std::byte>(id + i);
  }
  std::uint64_t size() const override { return count_; }
  Record read(std::uint64_t id, ReadBuffer& buffer) const override {
    if (before_read) before_read(id);
    Record record;
    record.id = id;
    record.encoding = Encoding::pixels;
    record.height = 1, record.width = static_cast<std::uint32_t>(bytes_), record.channels = 1;
    record.label = static_cast<std::int64_t>(id % 10);
    record.bytes = {data_.data() + id * bytes_, bytes_};
    if (!resident_) {
      buffer.bytes.assign(record.bytes.begin(), record.bytes.end());
      record.bytes = buffer.bytes;
    }
    return record;
  }
  std::int64_t label(std::uint64_t id) const override { return static_cast<std::int64_t>(id % 10); }
  std::vector<std::string> classes() const override { return std::vector<std::string>(10, "c"); }
  std::string describe(std::uint64_t id) const override { return "fake #" + std::to_string(id); }
  bool resident() const override { return resident_; }

  std::function<void(std::uint64_t)> before_read;

 private:
  std::uint64_t count_;
  std::size_t bytes_;
  bool resident_;
  std::vector<std::byte> data_;
};

/// Copies the bytes, and one random number per row so that tests see the draws.
class FakeSampler : public Sampler {
 public:
  explicit FakeSampler(std::size_t bytes) : bytes_(bytes) {}
  std::vector<Field> fields() const override {
    return {{"image", DType::u8, {1, static_cast<std::int64_t>(bytes_), 1}},
            {"label", DType::i64, {}},
            {"draw", DType::i32, {}}};
  }
  void sample(const Record& record, Stream& random, Row row) const override {
    if (before_sample) before_sample(record.id);
    std::memcpy(row[0], record.bytes.data(), bytes_);
    std::memcpy(row[1], &record.label, sizeof record.label);
    const std::uint32_t draw = random.next();
    std::memcpy(row[2], &draw, sizeof draw);
  }
  std::function<void(std::uint64_t)> before_sample;

 private:
  std::size_t bytes_;
};

/// A keyed shuffle of everything.
class FakeOrder : public Order {
 public:
  FakeOrder(std::uint64_t count, std::uint64_t seed) : count_(count), seed_(seed) {}
  std::uint64_t size() const override { return count_; }
  std::uint64_t at(std::uint64_t epoch, std::uint64_t index) const override {
    return Permutation(count_, mix64(seed_ + epoch))(index);
  }

 private:
  std::uint64_t count_, seed_;
};

}  // namespace flowtrain::testing
