// Memory that runs out: the n-th allocation fails, n = 1, 2, 3 … until all goes well. No abort, no torn snapshot.
#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <new>

#include "pipeline/base/config/config.h"
#include "pipeline/base/snapshot/atomic_folder.h"
#include "sampling/core/settings.h"
#include "tests/support/fast_folder.h"
#include "tests/support/fault_points.h"
#include "tests/support/paths.h"
#include "tests/support/snapshot_fixture.h"

namespace {

long left = -1;  // allocations until the one that fails; negative: none does

void* allocate(std::size_t bytes, std::size_t alignment) noexcept {
  if (left > 0 && --left == 0) return nullptr;
  return std::aligned_alloc(alignment, (bytes + alignment) / alignment * alignment);
}

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  if (void* memory = allocate(bytes, alignment)) return memory;
  throw std::bad_alloc();
}

constexpr std::size_t usual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

// All of them: a sanitizer's own would not call these.
void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, usual); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, usual); }
void* operator new[](std::size_t bytes) { return allocate_or_throw(bytes, usual); }
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept { return allocate(bytes, usual); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace flowtrain::allocation_test {

using namespace flowtrain::test;

namespace {

/// Runs `work` with a failure at the 1st, 2nd, … allocation of `points`, and `check` after each, until one run has no
/// failure.
void fail_each(FaultPoints& points, const std::function<void()>& work, const std::function<void()>& check) {
  for (const std::uint64_t n : points.each()) {
    INFO(points.repeat(n));
    bool refused = false;
    left = static_cast<long>(n);
    try {
      work();
    } catch (const std::bad_alloc&) {
      refused = true;
    } catch (const UserError&) {
      refused = true;
    } catch (...) {
      left = -1;
      throw;
    }
    const bool fired = left == 0;
    left = -1;
    CHECK_MESSAGE((fired || !refused), "an error without a failed allocation");
    check();
    if (!fired) return;
    points.count();
  }
}

}  // namespace

TEST_CASE("no memory: a save is done, or what was there is left as it was" * points_sampled) {
  const FastFolder folder;
  save(folder.path(), 1);
  const SmallContent content(2);
  FaultPoints points("allocations of a save");
  fail_each(
      points,
      [&] {
        write_snapshot(folder.path(), content.content);
        link_snapshot(folder.path(), 2);
        prune(folder.path(), 1);
      },
      [&] {
        const auto newest = find_newest(folder.path());
        REQUIRE(newest.path);
        CHECK(newest.passed_over.empty());
        if (newest.path == folder / "iter-00000002") fs::remove_all(*newest.path);
        CHECK(verify_snapshot(save(folder.path(), 1)).empty());
        for (const auto& entry : fs::directory_iterator(folder.path()))
          CHECK_FALSE(is_leftover(entry.path().filename().string()));
      });
  points.finish();
}

TEST_CASE("no memory: a snapshot is opened, or refused, and is the same afterwards" * points_sampled) {
  const FastFolder folder;
  save(folder.path(), 1);
  const auto path = save(folder.path(), 2);
  FaultPoints points("allocations of opening");
  fail_each(
      points,
      [&] {
        const auto newest = find_newest(folder.path());
        if (newest.path != path) throw InternalError("no memory was taken for damage");
        open_snapshot(path);
      },
      [] {});
  CHECK(verify_snapshot(path).empty());
  flip(path / "model.safetensors", fs::file_size(path / "model.safetensors") - 1, 1);
  fail_each(
      points,
      [&] {
        if (verify_snapshot(path).empty()) throw InternalError("damage was overlooked");
      },
      [] {});
  points.finish();
}

TEST_CASE("no memory: a configuration is read, or refused, and the next reading says the same" * points_sampled) {
  const auto file = fs::path(test::source_path("configs/quickstart.toml"));
  const auto undisturbed = to_toml(load_config(file));
  FaultPoints points("allocations of configuring");
  fail_each(
      points, [&] { load_config(file); }, [] {});
  CHECK(to_toml(load_config(file)) == undisturbed);
  points.finish();
}

}  // namespace flowtrain::allocation_test
