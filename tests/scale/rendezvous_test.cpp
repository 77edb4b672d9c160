// The cost for the ranks of a job to find each other, and to see that they live: calls of the store, counted under
// LibTorch's Gloo and under our hearts, at as many ranks as one process can play.

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <torch/torch.h>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <thread>

#include "pipeline/base/distributed/heartbeat.h"
#include "tests/support/fault_points.h"

namespace flowtrain::rendezvous_test {

namespace {

using Bytes = std::vector<std::uint8_t>;
using Clock = std::chrono::steady_clock;

/// A store within this process that counts what it is asked.
class CountingStore : public c10d::HashStore {
 public:
  using HashStore::wait;

  void set(const std::string& key, const Bytes& value) override {
    sets += 1, in += value.size(), HashStore::set(key, value);
  }
  Bytes get(const std::string& key) override { return gets += 1, sent(HashStore::get(key)); }
  std::int64_t add(const std::string& key, std::int64_t value) override {
    return adds += 1, HashStore::add(key, value);
  }
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
  double calls = 0, in = 0, out = 0;  ///< of the store, until all ranks have summed something
  double descriptors = 0;             ///< open files of a rank
  double sum_ms = 0;                  ///< a sum of one double
};

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

// All ranks of a world meet over Gloo, as pipeline/base/distributed/group_session.cpp lets them.
Meeting meet(int world, bool lazy) {
  const auto store = c10::make_intrusive<CountingStore>();
  const std::size_t before = open_descriptors();
  std::vector<c10::intrusive_ptr<c10d::ProcessGroupGloo>> groups(static_cast<std::size_t>(world));
  const auto group = [&](int rank) -> auto& { return groups[static_cast<std::size_t>(rank)]; };
  std::atomic<int> wrong = 0;
  const auto sum = [&](int rank) {
    std::vector<at::Tensor> one{torch::ones({1}, torch::kFloat64)};
    group(rank)->allreduce(one)->wait();
    wrong += one[0].item<double>() != world;
  };
  on_all(world, [&](int rank) {
    auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::minutes(2));
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1", lazy));
    const auto named = c10::make_intrusive<c10d::PrefixStore>("flowtrain/0", store);
    group(rank) = c10::make_intrusive<c10d::ProcessGroupGloo>(named, rank, world, options);
    sum(rank);  // connects, where that was put off
  });
  Meeting meeting;
  meeting.calls = static_cast<double>(store->calls());
  meeting.in = static_cast<double>(store->in);
  meeting.out = static_cast<double>(store->out);
  meeting.descriptors = static_cast<double>(open_descriptors() - before) / world;
  constexpr int sums = 20;
  const auto start = Clock::now();
  on_all(world, [&](int rank) {
    for (int i = 0; i < sums; ++i) sum(rank);
  });
  meeting.sum_ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count() / sums;
  CHECK(wrong == 0);
  on_all(world, [&](int rank) { group(rank).reset(); });
  return meeting;
}

// A metric per rank, which grows with the world in a straight line, at another place on the line.
double scalar_of_a_rank(const std::map<int, Meeting>& meetings, double Meeting::*scalar, int world) {
  const auto& [large_world, large] = *meetings.rbegin();
  const auto& [small_world, small] = *std::next(meetings.rbegin());
  const double of_large = large.*scalar / large_world, of_small = small.*scalar / small_world;
  return of_large + (of_large - of_small) / (large_world - small_world) * (world - large_world);
}

rlim_t allowed_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

// Worlds of up to 64 ranks, as many as this process may have connections for.
std::map<int, Meeting> meet_in_many_worlds(bool lazy) {
  std::map<int, Meeting> meetings;
  const rlim_t allowed = allowed_descriptors();
  for (int world = 2; world <= 64 && static_cast<rlim_t>(world * (world + 4)) + 100 < allowed; world *= 2) {
    const Meeting& now = meetings[world] = meet(world, lazy);
    MESSAGE(world << " ranks, " << std::string(lazy ? "connected when needed: " : "connected at once: ") << now.calls
                  << " calls of the store, " << now.in << " bytes in, " << now.out << " bytes out, " << now.descriptors
                  << " open files a rank; a sum of one double " << now.sum_ms << " ms");
  }
  return meetings;
}

}  // namespace

TEST_CASE("ranks meet over Gloo: what the store is asked, by world, and what that comes to at 4,096") {
  // c10d's own recorder keeps one table for all groups of a process and enters each without a lock; a real process
  // has one group, and no use for it here.
  ::setenv("TORCH_FR_BUFFER_SIZE", "0", 1);
  std::uint64_t met = 0;
  for (const bool lazy : {false, true}) {
    const auto meetings = meet_in_many_worlds(lazy);
    for (auto& [world, meeting] : meetings) {
      met += static_cast<std::uint64_t>(world);
      if (lazy)
        CHECK(meeting.calls <= 6 * world);
      else
        CHECK(meeting.calls <= world * (2 * world + 1));
    }
    const auto& [large_world, large] = *meetings.rbegin();
    const auto at_4096 = [&](double Meeting::*scalar) { return 4096 * scalar_of_a_rank(meetings, scalar, 4096); };
    // Every rank reads everyone's addresses, or only those that it connects to.
    const double in = at_4096(&Meeting::in), readers = lazy ? large.out / large.in : 4096;
    if (!lazy) CHECK(large.out == large.in * large_world);
    MESSAGE("at 4096 ranks, " << std::string(lazy ? "connected when needed: " : "connected at once: ")
                              << at_4096(&Meeting::calls) << " calls of the store, " << in << " bytes in, "
                              << in * readers << " bytes out");
  }
  FaultPoints points("scale ranks that met over Gloo");
  points.count(met);
  points.finish();
}

TEST_CASE("a heart costs the store the same few calls a beat, whatever the world") {
  std::uint64_t beats = 0;
  for (const int world : {2, 8, 32}) {
    const auto store = c10::make_intrusive<CountingStore>();
    Timeouts timeouts(std::chrono::minutes(10));
    timeouts.beat = std::chrono::milliseconds(20);
    {
      std::vector<std::unique_ptr<Heartbeat>> hearts;
      for (int rank = 0; rank < world; ++rank) {
        RankInfo place;
        place.rank = rank;
        place.world = world;
        hearts.push_back(std::make_unique<Heartbeat>(place, store, timeouts, std::make_shared<CollectiveLog>()));
      }
      while (store->sets < static_cast<std::uint64_t>(world) * 10) std::this_thread::sleep_for(timeouts.beat);
    }
    const auto said_goodbye = static_cast<std::uint64_t>(world), sets = store->sets - said_goodbye;
    MESSAGE(world << " ranks, " << sets << " beats: " << static_cast<double>(store->calls()) / static_cast<double>(sets)
                  << " calls and " << static_cast<double>(store->in) / static_cast<double>(sets) << " bytes a beat");
    CHECK(store->checks == 2 * sets);  // is the next one there? has a failure been reported?
    CHECK(store->gets <= sets);
    beats += sets;
  }
  FaultPoints points("scale beats of hearts");
  points.count(beats);
  points.finish();
}

TEST_CASE("ranks that come to different collectives are found by their hearts, which name both") {
  const auto store = c10::make_intrusive<CountingStore>();
  Timeouts timeouts(std::chrono::minutes(10));
  timeouts.beat = std::chrono::milliseconds(5);
  timeouts.grace = std::chrono::hours(1);  // in which a process is to end by itself
  const std::vector records{std::make_shared<CollectiveLog>(), std::make_shared<CollectiveLog>()};
  std::string found;
  {
    std::vector<std::unique_ptr<Heartbeat>> hearts;
    for (int rank = 0; rank < 2; ++rank) {
      RankInfo place;
      place.rank = rank;
      place.world = 2;
      hearts.push_back(std::make_unique<Heartbeat>(place, store, timeouts, records[static_cast<std::size_t>(rank)]));
    }
    for (auto& record : records) record->leave(record->enter("a sum"));
    const auto beats = store->sets + 8;
    while (store->sets < beats) std::this_thread::sleep_for(timeouts.beat);
    CHECK(reported_failure(*store).empty());
    records[0]->enter("the sharing of parameters");
    records[1]->enter("the comparison of parameters");
    while ((found = reported_failure(*store)).empty()) std::this_thread::sleep_for(timeouts.beat);
  }
  CAPTURE(found);
  for (auto part : {"are in different collectives: collective 2 is ", "the sharing of parameters in rank 0",
                    "the comparison of parameters in rank 1"})
    CHECK(found.find(part) != std::string::npos);
}

TEST_CASE("how many beats a store on TCP answers" * doctest::test_suite("nightly alone")) {
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
      set_beat(store, rank, {.count = i, .host = "node", .at = {i, "a sum", "iteration 57, in a sum"}});
      static_cast<void>(beat_of(store, rank));
      static_cast<void>(reported_failure(store));
    }
  });
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  CHECK(beat_of(*server, 0).count == beats);
  MESSAGE("one store, " << clients << " connections: " << clients * beats / seconds
                        << " beats a second; each rank needs one a second");
}

}  // namespace flowtrain::rendezvous_test
