// What it takes until the ranks of a job know each other, and to know that they live: calls of the store, counted under
// LibTorch's Gloo and under our hearts, at as many ranks as one process can play.

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <torch/torch.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>

#include "pipeline/distributed/heart.h"
#include "tests/points.h"

using namespace flowtrain;

namespace {

using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

/// A store within this process that counts what it is asked.
class CountingStore : public c10d::HashStore {
 public:
  using HashStore::wait;

  void set(const std::string& key, const Bytes& value) override { sets += 1, in += value.size(), HashStore::set(key, value); }
  Bytes get(const std::string& key) override { return gets += 1, sent(HashStore::get(key)); }
  std::int64_t add(const std::string& key, std::int64_t value) override { return adds += 1, HashStore::add(key, value); }
  bool check(const std::vector<std::string>& keys) override { return checks += 1, HashStore::check(keys); }
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override {
    waits += 1, HashStore::wait(keys, timeout);
  }
  void append(const std::string& key, const Bytes& value) override {
    sets += 1, in += value.size(), HashStore::append(key, value);
  }
  std::vector<Bytes> multiGet(const std::vector<std::string>& keys) override {
    multi += 1;
    auto values = HashStore::multiGet(keys);
    for (auto& value : values) sent(value);
    return values;
  }
  void multiSet(const std::vector<std::string>& keys, const std::vector<Bytes>& values) override {
    multi += 1;
    for (auto& value : values) in += value.size();
    HashStore::multiSet(keys, values);
  }

  std::uint64_t calls() const { return sets + gets + adds + checks + waits + multi; }

  std::atomic<std::uint64_t> sets = 0, gets = 0, adds = 0, checks = 0, waits = 0, multi = 0;
  std::atomic<std::uint64_t> in = 0, out = 0;  ///< bytes of values

 private:
  Bytes sent(Bytes value) { return out += value.size(), value; }
};

/// Calls job(rank) for all ranks at once, each on a thread of its own.
template <class Job>
void on_all(int world, Job job) {
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(world));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank)
    threads.emplace_back([&, rank] {
      try {
        job(rank);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
      }
    });
  for (auto& thread : threads) thread.join();
  for (auto& error : errors)
    if (error) std::rethrow_exception(error);
}

struct Meeting {
  double calls, in, out;          ///< of the store, until all ranks have met
  double summed_ms;               ///< for a sum of one double
};

// All ranks of a world meet over Gloo, as pipeline/distributed/membership.cpp lets them.
Meeting meet(int world, bool lazy) {
  const auto store = c10::make_intrusive<CountingStore>();
  std::vector<c10::intrusive_ptr<c10d::ProcessGroupGloo>> groups(static_cast<std::size_t>(world));
  on_all(world, [&](int rank) {
    auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::minutes(2));
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1", lazy));
    groups[static_cast<std::size_t>(rank)] = c10::make_intrusive<c10d::ProcessGroupGloo>(
        c10::make_intrusive<c10d::PrefixStore>("flowtrain/0", store), rank, world, options);
  });
  Meeting meeting{static_cast<double>(store->calls()), static_cast<double>(store->in), static_cast<double>(store->out), 0};
  constexpr int sums = 20;
  std::atomic<int> wrong = 0;
  const auto sum = [&](int rank) {
    std::vector<at::Tensor> one{torch::ones({1}, torch::kFloat64)};
    groups[static_cast<std::size_t>(rank)]->allreduce(one)->wait();
    wrong += one[0].item<double>() != world;
  };
  on_all(world, sum);  // connects, where that was put off
  const auto begin = Clock::now();
  on_all(world, [&](int rank) {
    for (int i = 0; i < sums; ++i) sum(rank);
  });
  meeting.summed_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count() / sums;
  CHECK(wrong == 0);
  return meeting;
}

// The power of the world that a figure grows with, from one world to one `times` as large.
double power(double small, double large, double times) { return std::log(large / small) / std::log(times); }

rlim_t descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace

TEST_CASE("ranks meet over Gloo: calls and bytes of the store by world, and what 4,096 would need") {
  std::vector<int> worlds{2, 4, 8, 16, 32};
  if (descriptors() >= 8192) worlds.push_back(64);
  std::uint64_t met = 0;
  for (const bool lazy : {false, true}) {
    std::map<int, Meeting> meetings;
    for (const int world : worlds) {
      const Meeting& now = meetings[world] = meet(world, lazy);
      met += static_cast<std::uint64_t>(world);
      MESSAGE((lazy ? "lazily, " : "") << world << " ranks: " << now.calls << " calls of the store, " << now.in
                                       << " bytes in, " << now.out << " bytes out; a sum of one double "
                                       << now.summed_ms << " ms");
    }
    const Meeting &small = meetings[16], &large = meetings[32];
    const double calls = power(small.calls, large.calls, 2), out = power(small.out, large.out, 2);
    MESSAGE("grows as world^" << calls << " (calls), ^" << power(small.in, large.in, 2) << " (bytes in), ^" << out
                              << " (bytes out); at 4096 ranks " << large.calls * std::pow(128, calls) << " calls, "
                              << large.out * std::pow(128, out) << " bytes out");
    CHECK(calls < 2.2);  // a full mesh, and no worse
  }
  tried("scale ranks that met over Gloo", met);
}

TEST_CASE("a heart costs the store the same few calls a beat, whatever the world") {
  std::uint64_t beats = 0;
  for (const int world : {2, 8, 32}) {
    const auto store = c10::make_intrusive<CountingStore>();
    Pace pace(std::chrono::minutes(10));
    pace.beat = std::chrono::milliseconds(20);
    {
      std::vector<std::unique_ptr<Heart>> hearts;
      for (int rank = 0; rank < world; ++rank) {
        Place place;
        place.rank = rank;
        place.world = world;
        hearts.push_back(std::make_unique<Heart>(place, store, pace, std::make_shared<FlightRecord>()));
      }
      while (store->sets < static_cast<std::uint64_t>(world) * 10) std::this_thread::sleep_for(pace.beat);
    }
    const auto said_goodbye = static_cast<std::uint64_t>(world), sets = store->sets - said_goodbye;
    MESSAGE(world << " ranks, " << sets << " beats: " << static_cast<double>(store->calls()) / static_cast<double>(sets)
                  << " calls and " << static_cast<double>(store->in) / static_cast<double>(sets) << " bytes a beat");
    CHECK(store->checks == 2 * sets);  // is the next one there? has a failure been reported?
    CHECK(store->gets <= sets);
    beats += sets;
  }
  tried("scale beats of hearts", beats);
}

TEST_CASE("how many beats a store on TCP answers") {
  const auto timeout = std::chrono::seconds(30);
  const auto server = open_tcp_store("127.0.0.1", 0, true, timeout);
  const int port = static_cast<c10d::TCPStore&>(*server).getPort();
  constexpr int clients = 4, beats = 500;
  std::vector<StorePtr> stores;
  for (int i = 0; i < clients; ++i) stores.push_back(open_tcp_store("127.0.0.1", port, false, timeout));
  const auto begin = Clock::now();
  on_all(clients, [&](int rank) {
    auto& store = *stores[static_cast<std::size_t>(rank)];
    for (std::uint64_t i = 1; i <= beats; ++i) {
      set_beat(store, rank, {.count = i, .collectives = i, .host = "node", .last = "iteration 57, in a sum"});
      static_cast<void>(beat_of(store, rank));
      static_cast<void>(reported_failure(store));
    }
  });
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  CHECK(beat_of(*server, 0).count == beats);
  MESSAGE("one store, " << clients << " connections: " << clients * beats / seconds
                        << " beats a second; each rank needs one a second");
}
