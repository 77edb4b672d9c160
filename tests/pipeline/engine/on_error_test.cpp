#include "pipeline/base/errors/policies.h"

#include <doctest/doctest.h>

#include <new>

#include "pipeline/base/config/keys.h"
#include "sampling/core/out_of_memory.h"
#include "sampling/core/settings.h"
#include "stages/hooks/hooks.h"
#include "tests/support/failure_helper.h"

namespace flowtrain::on_error_test {

TEST_CASE("errors that a run may go on after, and those that end it in any case") {
  CHECK(is_survivable(std::runtime_error("CUDA out of memory. Tried to allocate 2.00 GiB")));
  CHECK(is_survivable(UserError(ExitCode::usage, "step.name: no")));
  CHECK(is_survivable(UserError(ExitCode::data, "a batch of bad samples")));
  CHECK_FALSE(is_survivable(std::bad_alloc()));
  CHECK_FALSE(is_survivable(OutOfMemory("no memory is left")));
  CHECK_FALSE(is_survivable(
      std::runtime_error("[enforce fail at alloc_cpu.cpp:121] err == 0. DefaultCPUAllocator: can't allocate")));
  CHECK(is_survivable(std::runtime_error("cudaMalloc of 8 bytes: CUDA error: out of memory")));
  CHECK(is_survivable(std::runtime_error("cuDNN error: CUDNN_STATUS_NOT_SUPPORTED")));
  for (const char* lost :
       {"CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert'",
        "cudaMemcpyAsync: CUDA error: an illegal memory access was encountered", "CUDA driver error: unknown error",
        "CUDA error: CUBLAS_STATUS_EXECUTION_FAILED when calling `cublasGemmEx`",
        "cuDNN error: CUDNN_STATUS_EXECUTION_FAILED"})
    CHECK_FALSE(is_survivable(std::runtime_error(lost)));
  CHECK_FALSE(is_survivable(InternalError("a bug")));
  CHECK_FALSE(is_survivable(HookError(ExitCode::usage, "hook a: no")));
  for (auto code : {ExitCode::snapshot, ExitCode::numerics, ExitCode::distributed})
    CHECK_FALSE(is_survivable(UserError(code, "no")));
}

TEST_CASE("several processes may leave out an update, and deal with errors of validations as one does") {
  using Action = ErrorPolicy::Action;
  Settings train("train", core_keys("train")), val("val", core_keys("val")), dist("dist", core_keys("dist"));
  CHECK(ErrorPolicy::from(TrainKeys(train), dist, 4).action == Action::stop);
  CHECK(ErrorPolicy::from(ValKeys(val)).action == Action::stop);
  for (const std::string action : {"save", "skip"}) {
    train.set("on_error", action, {"a.toml", 3, 1});
    val.set("on_error", action, {"a.toml", 3, 1});
    const Action expected = action == "save" ? Action::save : Action::skip;
    CHECK(ErrorPolicy::from(TrainKeys(train), dist, 1).action == expected);
    CHECK(ErrorPolicy::from(ValKeys(val)).action == expected);
    if (action == "skip")
      CHECK(ErrorPolicy::from(TrainKeys(train), dist, 2).action == expected);
    else
      check_failure(failure_of([&] { ErrorPolicy::from(TrainKeys(train), dist, 2); }), ExitCode::usage,
                    "a.toml:3:1: train.on_error: only a process that trains alone");
  }
  dist.set("sync_batch_norm", true, {"a.toml", 8, 1});
  CHECK(ErrorPolicy::from(TrainKeys(train), dist, 1).action == Action::skip);
  check_failure(failure_of([&] { ErrorPolicy::from(TrainKeys(train), dist, 2); }), ExitCode::usage,
                "dist.sync_batch_norm (a.toml:8:1) exclude each other");
}

TEST_CASE("of an error with a stack the first line is shown") {
  CHECK(summary_of(std::make_exception_ptr(std::runtime_error("too large\nframe #0: …"))) == "too large");
}

}  // namespace flowtrain::on_error_test
