// The GPU's device against the CPU. A program of its own: it needs a GPU, and says so where there is none.
#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/images/finish.h"
#include "sampling/images/mix.h"
#include "stages/device/device.h"
#include "tests/support/skip.h"

namespace flowtrain::device_test {
namespace {

const test::ProgramNeeds needs("gpu", []() -> std::string {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) return std::string("no GPU answers: ") + cudaGetErrorString(status);
  return count == 0 ? "no GPU answers" : "";
});

constexpr float test_mean[] = {0.485f, 0.456f, 0.406f, 0.5f};
constexpr float test_stddev[] = {0.229f, 0.224f, 0.225f, 0.25f};

float expected(std::uint8_t value, int channel) {
  return (static_cast<float>(value) / 255.0f - test_mean[channel]) / test_stddev[channel];
}

/// A block of the device's memory, host or GPU.
template <typename T, void* (Device::*Allocate)(std::size_t), void (Device::*Free)(void*) noexcept>
class Block {
 public:
  Block(Device& device, std::size_t count) : device_(device), data_((device.*Allocate)(count * sizeof(T))) {}
  ~Block() { (device_.*Free)(data_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  T* get() const { return static_cast<T*>(data_); }

 private:
  Device& device_;
  void* data_;
};
template <typename T>
using HostBlock = Block<T, &Device::allocate_host, &Device::free_host>;
template <typename T>
using GpuBlock = Block<T, &Device::allocate_device, &Device::free_device>;

std::vector<float> fetch(const float* from, std::size_t count) {
  std::vector<float> values(count);
  REQUIRE(cudaMemcpy(values.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
  return values;
}

TEST_CASE("copy and normalise give the CPU's bits for odd sizes, all channel counts and odd addresses") {
  const auto device = make_cuda_device(0, 1);
  CHECK(device->copies());
  CHECK(device->name() == "cuda:0");
  for (int channels = 1; channels <= 4; ++channels) {
    for (const std::size_t count : {1u, 2u, 3u, 5u, 127u, 100003u}) {
      for (const std::size_t shift : {0u, 1u}) {
        CAPTURE(channels);
        CAPTURE(count);
        CAPTURE(shift);
        const std::size_t values = count * channels;
        const HostBlock<std::uint8_t> host(*device, values + shift);
        const GpuBlock<std::uint8_t> pixels(*device, values + shift);
        const GpuBlock<float> output(*device, values + shift);
        for (std::size_t i = 0; i < values + shift; ++i) host.get()[i] = static_cast<std::uint8_t>(i * 37 + i / 256);

        device->start_copy(0, pixels.get(), host.get(), values + shift);
        device->wait_copy(0);
        device->normalise(pixels.get() + shift, output.get() + shift, count, channels, test_mean, test_stddev);
        device->consumed(0);
        device->wait_host_free(0);

        const auto got = fetch(output.get() + shift, values);
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < values; ++i) {
          const float want = expected(host.get()[i + shift], static_cast<int>(i % channels));
          if (std::memcmp(&got[i], &want, sizeof want) != 0) ++wrong;
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("erased and mixed pictures are the CPU's, bit for bit") {
  const auto device = make_cuda_device(0, 1);
  std::uint64_t number = 0;
  for (int channels = 1; channels <= 4; ++channels) {
    const PixelRule rule = normalising({test_mean, test_mean + channels}, {test_stddev, test_stddev + channels});
    for (const auto& [height, width] :
         {std::pair{1, 1}, std::pair{2, 2}, std::pair{5, 7}, std::pair{32, 33}, std::pair{224, 224}}) {
      const PictureShape shape{height, width, channels};
      for (const std::size_t rows : {1u, 3u, 64u}) {
        const std::size_t values = rows * static_cast<std::size_t>(height * width * channels);
        const HostBlock<std::uint8_t> host(*device, values);
        const GpuBlock<std::uint8_t> pixels(*device, values);
        const GpuBlock<float> output(*device, values);
        for (std::size_t i = 0; i < values; ++i) host.get()[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
        device->start_copy(0, pixels.get(), host.get(), values);
        for (const Mixing& mixing : {Mixing{.mixup = 0.4}, Mixing{.cutmix = 1}, Mixing{.erase = {.prob = 0.7}},
                                     Mixing{.mixup = 1, .erase = {.prob = 0.7, .noise = true}},
                                     Mixing{.cutmix = 1, .erase = {.prob = 0.7, .noise = true}},
                                     Mixing{.mixup = 1,
                                     .erase = {.prob = 0.5},
                                     .color = {.brightness = 0.4, .contrast = 0.4, .saturation = 0.4, .hue = 0.1}}}) {
          if (mixing.color.any() && channels != 3) continue;
          CAPTURE(channels);
          CAPTURE(width);
          CAPTURE(rows);
          BatchMix drawn;
          ++number;
          mixing.draw(1, number, number * rows, rows, shape, drawn);
          std::vector<float> want(values);
          PixelMix mix = drawn.pixels();
          std::vector<float> grey(rows);
          if (mix.tints) measure_grey(host.get(), 0, static_cast<std::int64_t>(rows), shape, grey.data());
          mix.grey = grey.data();
          PictureFinisher(shape, rule, false)({host.get(), shape, &mix}, 0, static_cast<std::int64_t>(rows),
                                              want.data());
          device->wait_copy(0);
          device->mix(pixels.get(), output.get(), rows, shape, rule, mix);
          drawn.rows.assign(rows, {});  // they were read by now
          CHECK(std::memcmp(fetch(output.get(), values).data(), want.data(), values * sizeof(float)) == 0);
        }
        device->consumed(0);
      }
    }
  }
}

TEST_CASE("what was drawn for a large batch may be drawn anew as soon as it is handed over") {
  constexpr std::size_t test_rows = 2048, busy_kernel = std::size_t{64} << 20;
  constexpr PictureShape test_shape{8, 8, 3};
  constexpr std::size_t test_values = test_rows * 8 * 8 * 3;
  const auto device = make_cuda_device(0, 2);
  const PixelRule rule = normalising({test_mean, test_mean + 3}, {test_stddev, test_stddev + 3});
  const HostBlock<std::uint8_t> host(*device, test_values);
  const GpuBlock<std::uint8_t> pixels(*device, test_values), busy(*device, busy_kernel);
  const GpuBlock<float> output(*device, test_values), scratch(*device, busy_kernel);
  for (std::size_t i = 0; i < test_values; ++i) host.get()[i] = static_cast<std::uint8_t>(i * 37 + i / 256);
  device->start_copy(0, pixels.get(), host.get(), test_values);
  device->wait_copy(0);
  for (std::uint64_t batch = 1; batch <= 5; ++batch) {
    CAPTURE(batch);
    BatchMix drawn;
    Mixing{.mixup = 1, .erase = {.prob = 0.7, .noise = true}}.draw(1, batch, batch * test_rows, test_rows, test_shape,
                                                                   drawn);
    const PixelMix mix = drawn.pixels();
    std::vector<float> want(test_values);
    PictureFinisher(test_shape, rule, false)({host.get(), test_shape, &mix}, 0, test_rows, want.data());
    // The copy of the rows stands behind work that takes some milliseconds.
    for (int i = 0; i < 20; ++i) device->normalise(busy.get(), scratch.get(), busy_kernel, 1, test_mean, test_stddev);
    device->mix(pixels.get(), output.get(), test_rows, test_shape, rule, mix);
    drawn.rows.assign(test_rows, {});
    CHECK(std::memcmp(fetch(output.get(), test_values).data(), want.data(), test_values * sizeof(float)) == 0);
  }
}

TEST_CASE("a slot's memory is not overwritten before its user is done") {
  constexpr std::size_t test_bytes = std::size_t{32} << 20;
  constexpr int rounds = 20;
  const float mean = 0.0f;
  const float stddev = 1.0f / 255.0f;
  const auto device = make_cuda_device(0, 2);
  const HostBlock<std::uint8_t> host(*device, test_bytes);
  const GpuBlock<std::uint8_t> pixels(*device, test_bytes);
  const GpuBlock<float> scratch(*device, test_bytes);
  const GpuBlock<float> results(*device, rounds);
  for (int round = 0; round < rounds; ++round) {
    device->wait_host_free(1);
    std::memset(host.get(), round, test_bytes);
    device->start_copy(1, pixels.get(), host.get(), test_bytes);
    device->wait_copy(1);
    // Long work first, then a read of the last byte: a copy that did not wait would have changed it by then.
    device->normalise(pixels.get(), scratch.get(), test_bytes, 1, &mean, &stddev);
    device->normalise(pixels.get() + test_bytes - 1, results.get() + round, 1, 1, &mean, &stddev);
    device->consumed(1);
  }
  const auto got = fetch(results.get(), rounds);
  for (int round = 0; round < rounds; ++round) CHECK(got[round] == doctest::Approx(round));
}

TEST_CASE("what cannot be had is refused by name") {
  CHECK_THROWS_WITH_AS(make_cuda_device(1000, 1), doctest::Contains("cuda:1000: there is no such GPU"), UserError);
  const auto device = make_cuda_device(0, 1);
  CHECK_THROWS_WITH_AS(device->allocate_device(std::size_t{1} << 60), doctest::Contains("cudaMalloc"),
                       std::runtime_error);
  CHECK_THROWS_WITH(device->normalise(nullptr, nullptr, 1, 5, test_mean, test_stddev),
                    "normalise: 1 to 4 channels, not 5");
  const RowMix row{};
  CHECK_THROWS_WITH(device->mix(nullptr, nullptr, 1, {1, 1, 5}, {}, {&row}), "mix: 1 to 4 channels, not 5");
}

}  // namespace
}  // namespace flowtrain::device_test
