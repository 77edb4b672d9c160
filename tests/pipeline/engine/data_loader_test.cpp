// The loader that stands alone: epochs, places, memory. What Python makes of it is tested in tests/python.

#include "pipeline/engine/loader/data_loader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "pipeline/engine/loader/batch_memory.h"
#include "sampling/core/error.h"
#include "stages/device/cpu_device.h"
#include "tests/support/failure_helper.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::data_loader_test {
namespace {

using namespace std::chrono_literals;

Config shapes(const std::string& more = {}) {
  const TempFolder folder;
  return load_config(folder.write("c.toml",
                                  "[data]\ndataset = \"shapes\"\nsamples = 50\n[loader]\nbatch = 8\n"
                                  "workers = 2\n[run]\nseed = 3\n" +
                                      more));
}

struct Seen {
  std::vector<std::uint64_t> ids;
  std::vector<std::byte> images;

  bool operator==(const Seen&) const = default;
};

void take(const LoadedBatch& batch, Seen& seen) {
  seen.ids.insert(seen.ids.end(), batch.ids.begin(), batch.ids.end());
  const std::byte* image = batch.field(0);
  seen.images.insert(seen.images.end(), image, image + batch.rows * batch.layout->row_bytes(0));
}

std::unique_ptr<LoadedBatch> next(DataLoader& loader) {
  for (;;)
    if (auto batch = loader.next_within(1s)) return std::move(*batch);
}

Seen epoch_of(DataLoader& loader) {
  Seen seen;
  loader.begin_epoch();
  while (const auto batch = next(loader)) take(*batch, seen);
  return seen;
}

TEST_CASE("another stream of the same data has a place of its own, and outlives the first one") {
  DataLoader plain(shapes(), {});
  const Seen epochs[] = {epoch_of(plain), epoch_of(plain)};
  auto first = std::make_unique<DataLoader>(shapes(), DataLoaderOptions{});
  const auto second = first->another(), third = second->another();
  Seen seen[3];
  DataLoader* const loaders[] = {first.get(), second.get(), third.get()};
  third->seek({1, 0});
  for (DataLoader* loader : loaders) loader->begin_epoch();
  for (std::uint64_t i = 0; i < plain.batches(); ++i)
    for (std::size_t each = 0; each < 3; ++each) take(*next(*loaders[each]), seen[each]);
  CHECK((seen[0] == epochs[0] && seen[1] == epochs[0] && seen[2] == epochs[1]));
  CHECK(third->classes() == first->classes());
  first.reset();
  CHECK((epoch_of(*second) == epochs[1]));
}

TEST_CASE("a stream goes on from any place, with another batch size, and has every sample once an epoch") {
  DataLoader straight(shapes("[order]\nname = \"shuffle\"\n"), {.drop_last = false});
  CHECK(straight.batches() == 7);
  CHECK(straight.samples() == 50);
  Seen whole[] = {epoch_of(straight), epoch_of(straight)};
  for (auto ids : {whole[0].ids, whole[1].ids}) {
    std::ranges::sort(ids);
    for (std::uint64_t id = 0; id < 50; ++id) CHECK(ids[id] == id);
  }
  for (const int taken : {0, 1, 6, 7}) {
    CAPTURE(taken);
    DataLoader begun(shapes(), {.drop_last = false});
    begun.begin_epoch();
    Seen seen;
    for (int i = 0; i < taken; ++i) take(*next(begun), seen);
    const StreamPosition place = begun.position();
    CHECK(place == StreamPosition{0, std::min<std::uint64_t>(8 * static_cast<std::uint64_t>(taken), 50)});
    for (const char* batch : {"3", "8", "64"}) {
      DataLoader later(shapes().with("loader", "batch", std::int64_t{std::stoi(batch)}), {.drop_last = false});
      CHECK(later.basis() == begun.basis());
      later.seek(place);
      if (place.samples < 50) {
        Seen all = seen, rest = epoch_of(later);
        all.ids.insert(all.ids.end(), rest.ids.begin(), rest.ids.end());
        all.images.insert(all.images.end(), rest.images.begin(), rest.images.end());
        CHECK((all == whole[0]));
      }
      CHECK((epoch_of(later) == whole[1]));
      CHECK(later.position() == StreamPosition{1, 50});
    }
  }
}

TEST_CASE("an epoch that is left, or passed over, is behind it") {
  DataLoader straight(shapes(), {.drop_last = true}), left(shapes(), {.drop_last = true});
  epoch_of(straight);
  left.begin_epoch();
  next(left);
  CHECK((epoch_of(left) == epoch_of(straight)));
  epoch_of(straight);
  left.seek({3, 0});
  CHECK((epoch_of(left) == epoch_of(straight)));
  left.close();
  CHECK_FALSE(next(left));
  CHECK((epoch_of(left) == epoch_of(straight)));
  check_failure(failure_of([&] { left.seek({0, 51}); }), ExitCode::usage, "an epoch has 50");
}

TEST_CASE("memory comes back once nobody holds it, from any thread, and outlives the loader") {
  auto loader = std::make_unique<DataLoader>(shapes(), DataLoaderOptions{});
  for (int i = 0; i < 20; ++i) epoch_of(*loader);
  CHECK(loader->memory_blocks() <= 2);
  std::vector<std::unique_ptr<LoadedBatch>> held;
  std::vector<std::vector<std::byte>> before;
  loader->begin_epoch();
  while (auto batch = next(*loader)) held.push_back(std::move(batch));
  before.reserve(held.size());
  for (auto& batch : held) before.emplace_back(batch->field(0), batch->field(0) + batch->layout->row_bytes(0));
  epoch_of(*loader);
  const auto memory = held.front()->memory;
  for (std::size_t i = 0; i < held.size(); ++i)
    CHECK(std::memcmp(held[i]->field(0), before[i].data(), before[i].size()) == 0);
  std::jthread([&] { held.clear(); }).join();
  const auto blocks = loader->memory_blocks();
  epoch_of(*loader);
  CHECK(loader->memory_blocks() == blocks);
  loader.reset();
  CHECK(std::memcmp(memory.get(), before[0].data(), before[0].size()) == 0);
}

/// Memory that somebody else reuses, until there is no more.
class CountedMemory final : public CpuDevice {
 public:
  explicit CountedMemory(int most) : most_(most) {}
  void* allocate_host(std::size_t bytes) override {
    if (made++ == most_) throw std::runtime_error("no more");
    ++held;
    return CpuDevice::allocate_host(bytes);
  }
  void free_host(void* memory) noexcept override {
    --held;
    CpuDevice::free_host(memory);
  }

  int made = 0, held = 0;

 private:
  const int most_;
};

TEST_CASE("memory of somebody else goes back to it with each batch, and may fail") {
  const auto memory = std::make_shared<CountedMemory>(-1);
  const auto open = [](std::shared_ptr<Device> device) {
    return std::make_unique<DataLoader>(shapes(), DataLoaderOptions{.memory = std::move(device)});
  };
  auto loader = open(memory);
  const int batches = 3 * static_cast<int>(loader->batches());
  for (int i = 0; i < 3; ++i) epoch_of(*loader);
  CHECK(memory->made - memory->held == batches);
  loader.reset();
  CHECK(memory->held == 0);

  for (int most = 0; most < memory->made; ++most) {
    const auto little = std::make_shared<CountedMemory>(most);
    loader = open(little);
    CHECK_THROWS_WITH(for (int i = 0; i < 3; ++i) epoch_of(*loader), "no more");
    loader.reset();
    CHECK(little->held == 0);
  }
}

TEST_CASE("images are f32 by default, or bytes as they were decoded") {
  DataLoader floats(shapes(), {}), bytes(shapes(), {.floats = false});
  CHECK(floats.fields()[0].dtype == DType::f32);
  CHECK(bytes.fields()[0].dtype == DType::u8);
  CHECK(floats.basis() == bytes.basis());
}

}  // namespace
}  // namespace flowtrain::data_loader_test
