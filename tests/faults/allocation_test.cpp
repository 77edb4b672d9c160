// Memory that runs out: the n-th allocation fails, n = 1, 2, 3 … until all goes well. No abort, no torn snapshot.
#include <doctest/doctest.h>

#include <cstdlib>
#include <functional>
#include <new>

#include "pipeline/config/config.h"
#include "pipeline/snapshot/atomic_folder.h"
#include "tests/faults/fast_folder.h"
#include "tests/points.h"
#include "tests/snapshot/fixture.h"

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

using namespace flowtrain;
using namespace flowtrain::test;

namespace {

/// Runs `work` with a failure at the 1st, 2nd, … allocation, and `check` after each, until one run has no failure.
/// Returns the number of failures.
std::uint64_t fail_each(const std::function<void()>& work, const std::function<void()>& check) {
  for (long n = 1;; ++n) {
    bool refused = false;
    left = n;
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
    if (!fired) return static_cast<std::uint64_t>(n - 1);
  }
}

}  // namespace

TEST_CASE("no memory: a save is done, or what was there is left as it was") {
  const FastFolder folder;
  save(folder.path(), 1);
  const SmallContent content(2);
  const auto points = fail_each(
      [&] {
        write_snapshot(folder.path(), content.content);
        mark_best(folder.path(), 2);
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
  tried("R19 allocations of a save", points);
}

TEST_CASE("no memory: a snapshot is opened, or refused, and is the same afterwards") {
  const FastFolder folder;
  save(folder.path(), 1);
  const auto path = save(folder.path(), 2);
  const auto points = fail_each(
      [&] {
        const auto newest = find_newest(folder.path());
        if (newest.path != path) throw InternalError("no memory was taken for damage");
        open_snapshot(path);
      },
      [] {});
  CHECK(verify_snapshot(path).empty());
  flip(path / "model.safetensors", fs::file_size(path / "model.safetensors") - 1, 1);
  const auto damaged = fail_each(
      [&] {
        if (verify_snapshot(path).empty()) throw InternalError("damage was overlooked");
      },
      [] {});
  tried("R19 allocations of opening", points + damaged);
}

TEST_CASE("no memory: a configuration is read, or refused, and the next reading says the same") {
  const auto file = fs::path(FLOWTRAIN_SOURCE_DIR) / "configs/quickstart.toml";
  const auto undisturbed = to_toml(load_config(file));
  const auto points = fail_each([&] { load_config(file); }, [] {});
  CHECK(to_toml(load_config(file)) == undisturbed);
  tried("R19 allocations of configuring", points);
}
