#include "stages/core/bounded_queue.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <latch>
#include <numeric>
#include <thread>
#include <vector>

namespace flowtrain::bounded_queue_test {

// Both queues keep the same contract.
TEST_CASE_TEMPLATE("first in, first out, and bounded", Queue, LockFreeQueue<int>, LockedQueue<int>) {
  Queue queue(3);
  CHECK(queue.push(1));
  CHECK(queue.push(2));
  CHECK(queue.try_push(3));
  CHECK_FALSE(queue.try_push(4));
  CHECK(queue.size() == 3);
  for (int expected : {1, 2, 3}) {
    int item = 0;
    CHECK(queue.pop(item));
    CHECK(item == expected);
  }
  CHECK(queue.size() == 0);
}

TEST_CASE_TEMPLATE("every item arrives once, in each consumer's view in order", Queue, LockFreeQueue<int>,
                   LockedQueue<int>) {
  constexpr int items = 20'000, consumers = 3;
  for (std::size_t capacity : {1u, 7u, 64u}) {
    Queue queue(capacity);
    std::vector<std::vector<int>> got(consumers);
    {
      std::vector<std::jthread> threads;
      for (auto& own : got)
        threads.emplace_back([&queue, &own] {
          for (int item; queue.pop(item);) own.push_back(item);
        });
      for (int i = 0; i < items; ++i) REQUIRE(queue.push(i));
      queue.drain();
    }
    std::vector<int> all;
    for (auto& own : got) {
      CHECK(std::is_sorted(own.begin(), own.end()));
      all.insert(all.end(), own.begin(), own.end());
    }
    std::sort(all.begin(), all.end());
    std::vector<int> expected(items);
    std::iota(expected.begin(), expected.end(), 0);
    CHECK(all == expected);
  }
}

TEST_CASE_TEMPLATE("close drops what is inside and wakes everyone", Queue, LockFreeQueue<int>, LockedQueue<int>) {
  for (int round = 0; round < 50; ++round) {
    Queue empty(2), full(1);
    REQUIRE(full.push(1));
    std::atomic<int> woken{0};
    std::latch begun(4);
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 3; ++i)
        threads.emplace_back([&] {
          begun.count_down();
          int item;
          woken += !empty.pop(item);
        });
      threads.emplace_back([&] {
        begun.count_down();
        woken += !full.push(2);
      });
      if (round % 2) begun.wait();  // they wait, or are about to
      empty.close();
      full.close();
    }
    CHECK(woken == 4);
    int item;
    CHECK_FALSE(full.pop(item));
    CHECK_FALSE(full.try_push(3));
  }
}

TEST_CASE_TEMPLATE("drain lets the rest out, then ends", Queue, LockFreeQueue<int>, LockedQueue<int>) {
  Queue queue(4);
  queue.push(1);
  queue.push(2);
  queue.drain();
  CHECK_FALSE(queue.push(3));
  int item = 0;
  CHECK(queue.pop(item));
  CHECK(queue.pop(item));
  CHECK(item == 2);
  CHECK_FALSE(queue.pop(item));
  CHECK_FALSE(queue.pop(item));
}

}  // namespace flowtrain::bounded_queue_test
