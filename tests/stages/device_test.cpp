#include "stages/device/device.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "sampling/core/error.h"
#include "tests/support/paths.h"

namespace flowtrain::device_test {
namespace {

TEST_CASE("the CPU device hands out aligned memory and copies nothing") {
  const auto device = make_cpu_device();
  CHECK(device->name() == "cpu");
  CHECK_FALSE(device->copies());
  for (const std::size_t bytes : {1u, 63u, 64u, 1000003u}) {
    void* memory = device->allocate_host(bytes);
    CHECK(reinterpret_cast<std::uintptr_t>(memory) % 64 == 0);
    static_cast<std::uint8_t*>(memory)[bytes - 1] = 1;
    device->free_host(memory);
  }
  device->wait_copy(0);
  device->consumed(0);
  device->wait_host_free(0);
  CHECK_THROWS_AS(device->allocate_device(1), InternalError);
  CHECK_THROWS_AS(device->start_copy(0, nullptr, nullptr, 1), InternalError);
}

TEST_CASE("a GPU that cannot be had is a user's error that names the way out") {
  try {
    make_cuda_device(1000, 1);
    FAIL("GPU 1000 answered");
  } catch (const UserError& error) {
    const std::string message = error.what();
    CAPTURE(message);
    CHECK(error.code() == ExitCode::usage);
    CHECK(message.rfind("cuda:1000: ", 0) == 0);
    CHECK(message.find('\n') == std::string::npos);
    CHECK_FALSE(error.hint().empty());
    if (!std::filesystem::exists(test::build_path("lib/libflowtrain_cuda.so"))) {
      CHECK(message.find("this build of flowtrain has no CUDA parts") != std::string::npos);
      CHECK(error.hint().find("nvcc") != std::string::npos);
    } else if (!std::filesystem::exists("/dev/nvidiactl")) {
      CHECK(message.find("no GPU answers") != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace flowtrain::device_test
