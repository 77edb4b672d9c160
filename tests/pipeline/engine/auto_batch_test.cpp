#include "pipeline/engine/memory/auto_batch.h"

#include <doctest/doctest.h>

#include <vector>

#include "pipeline/engine/memory/free_memory.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::auto_batch_test {

namespace {

/// What was tried, with steps that take `fixed` bytes and `per_row` for each row.
struct Steps {
  std::uint64_t fixed, per_row;
  std::vector<std::uint32_t> tried = {};

  FoundRows find(std::uint32_t most, std::uint64_t limit) {
    return find_rows(most, limit, [this](std::uint32_t rows) {
      tried.push_back(rows);
      return std::optional(fixed + per_row * rows);
    });
  }
};

}  // namespace

TEST_CASE("the largest batch that fits is found, to within three percent, and none that is foretold not to is tried") {
  for (const std::uint64_t per_row : {1, 3, 10, 1000})
    for (const std::uint64_t fixed : {0, 50, 5000})
      for (const std::uint32_t right : {1u, 2u, 3u, 7u, 64u, 100u, 1021u}) {
        CAPTURE(per_row);
        CAPTURE(fixed);
        CAPTURE(right);
        Steps steps{fixed, per_row};
        const std::uint64_t limit = fixed + per_row * right;
        const FoundRows found = steps.find(100'000, limit);
        CHECK(found.rows <= right);
        CHECK(found.rows + found.rows / 32 >= right);
        CHECK(found.bytes == fixed + per_row * found.rows);
        CHECK(found.limit == limit);
        CHECK(found.tries == steps.tried.size());
        // The first two tell the line.
        for (std::size_t i = 2; i < steps.tried.size(); ++i) CHECK(steps.tried[i] <= right);
      }
}

TEST_CASE("no more rows are tried than there may be, and none is found where one is too many") {
  for (const std::uint32_t most : {1u, 2u, 5u, 64u, 300u}) {
    Steps steps{10, 1};
    CHECK(steps.find(most, 1'000'000).rows == most);
    for (const auto rows : steps.tried) CHECK(rows <= most);
  }
  CHECK(Steps{100, 1}.find(64, 100).rows == 0);
}

TEST_CASE("a device that has too little says so at any number of rows") {
  for (const std::uint32_t right : {1u, 2u, 33u, 250u}) {
    const auto found = find_rows(256, ~std::uint64_t{0}, [&](std::uint32_t rows) {
      return rows <= right ? std::optional<std::uint64_t>(rows) : std::nullopt;
    });
    CHECK(found.rows <= right);
    CHECK(found.rows + found.rows / 32 >= right);
  }
}

TEST_CASE("free memory is what the machine, a process's limit and all control groups above it leave") {
  const TempFolder root;
  CHECK(free_memory(root.path()) == ~std::uint64_t{0});
  root.write("proc/meminfo", "MemTotal:       4000 kB\nMemAvailable:   3000 kB\n");
  CHECK(free_memory(root.path()) == 3000 * 1024);

  const std::string limits = "Limit                     Soft Limit           Hard Limit           Units\n";
  root.write("proc/self/limits",
             limits + "Max address space         unlimited            unlimited            bytes\n");
  CHECK(free_memory(root.path()) == 3000 * 1024);
  root.write("proc/self/limits",
             limits + "Max address space         2000000              unlimited            bytes\n");
  root.write("proc/self/status", "Name:\tflowtrain\nVmPeak:\t    1900 kB\nVmSize:\t    1000 kB\n");
  CHECK(free_memory(root.path()) == 2'000'000 - 1000 * 1024);
  root.write("proc/self/status", "VmSize:\t    3000 kB\n");
  CHECK(free_memory(root.path()) == 0);
  root.write("proc/self/limits", "");

  root.write("proc/self/cgroup", "5:cpu:/job\n4:memory:/job/step\n0::/job\n");
  CHECK(free_memory(root.path()) == 3000 * 1024);  // groups that are not to be seen
  SUBCASE("version 1") {
    root.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "2000000\n");
    root.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1500000\n");
    CHECK(free_memory(root.path()) == 500'000);
    root.write("sys/fs/cgroup/memory/job/memory.stat", "cache 7\ntotal_inactive_file 100000\n");
    CHECK(free_memory(root.path()) == 600'000);
    root.write("sys/fs/cgroup/memory/job/step/memory.limit_in_bytes", "1000\n");
    root.write("sys/fs/cgroup/memory/job/step/memory.usage_in_bytes", "2000\n");
    CHECK(free_memory(root.path()) == 0);
  }
  SUBCASE("version 2") {
    root.write("sys/fs/cgroup/job/memory.max", "max\n");
    root.write("sys/fs/cgroup/job/memory.current", "1000\n");
    CHECK(free_memory(root.path()) == 3000 * 1024);
    root.write("sys/fs/cgroup/job/memory.max", "5000\n");
    CHECK(free_memory(root.path()) == 4000);
    root.write("sys/fs/cgroup/memory.max", "4500\n");
    root.write("sys/fs/cgroup/memory.current", "2000\n");
    CHECK(free_memory(root.path()) == 2500);
  }
}

}  // namespace flowtrain::auto_batch_test
