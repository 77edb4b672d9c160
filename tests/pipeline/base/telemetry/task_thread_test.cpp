#include "pipeline/base/telemetry/task_thread.h"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "sampling/io/held_folder.h"

namespace flowtrain::task_thread_test {

namespace {

/// Holds a thread until it is opened.
class Gate {
 public:
  void pass() const { open_.wait(false); }
  void open() {
    open_ = true;
    open_.notify_all();
  }

 private:
  std::atomic<bool> open_ = false;
};

}  // namespace

TEST_CASE("tasks are carried out in their order, and all of them before finish() returns") {
  std::vector<int> done;
  TaskThread tasks({.name = "ft-test", .depth = 3});
  for (int i = 0; i < 100; ++i) tasks.add([&done, i] { done.push_back(i); });
  tasks.finish();
  REQUIRE(done.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(done[static_cast<std::size_t>(i)] == i);
  tasks.add([&done] { done.push_back(-1); });
  tasks.finish();
  CHECK(done.size() == 100);
}

TEST_CASE("a wait for tasks ends with the last that was added before it, also when their thread is gone") {
  std::atomic<int> done = 0;
  std::function<void()> wait;
  SUBCASE("each at once") {
    TaskThread tasks({.name = "ft-test", .depth = 8});
    for (int i = 0; i < 5; ++i) tasks.add([&done] { ++done; });
    wait = tasks.wait_for_added();
    wait();
    CHECK(done == 5);
  }
  SUBCASE("gathered: a wait ends the pause") {
    TaskThread tasks({.name = "ft-test", .depth = 8, .pause = [] { return std::chrono::hours(1); }});
    for (int i = 0; i < 5; ++i) tasks.add([&done] { ++done; });
    wait = tasks.wait_for_added();
    wait();
    CHECK(done == 5);
  }
  wait();
  CHECK(done == 5);
}

TEST_CASE("a full queue drops tasks, and counts them, where it must not hold up the caller") {
  Gate gate;
  std::atomic<bool> holds = false;
  int done = 0;
  TaskThread tasks({.name = "ft-test", .depth = 2, .drops = true});
  tasks.add([&] {
    holds = true;
    holds.notify_all();
    gate.pass();
  });
  holds.wait(false);
  for (int i = 0; i < 5; ++i) tasks.add([&done] { ++done; });
  CHECK(tasks.waiting() == 2);
  gate.open();
  tasks.finish();
  CHECK(done == 2);
  CHECK(tasks.dropped() == 3);
}

TEST_CASE("the first error is reported, or rethrown: nothing is done after it then") {
  int done = 0, warnings = 0;
  const auto fail = [] { throw std::runtime_error("no place"); };
  SUBCASE("reported") {
    TaskThread tasks({.name = "ft-test", .depth = 8, .warn = [&](auto& error) {
                        ++warnings;
                        CHECK(std::string(error.what()) == "no place");
                      }});
    tasks.add([] { throw FolderLost("the run's folder is gone", ""); });  // others say that
    tasks.add(fail);
    tasks.add(fail);
    tasks.add([&done] { ++done; });
    tasks.finish();
    tasks.check();
    CHECK(done == 1);
    CHECK(warnings == 1);
  }
  SUBCASE("rethrown") {
    TaskThread tasks({.name = "ft-test", .depth = 8});
    tasks.check();
    tasks.add(fail);
    tasks.add([&done] { ++done; });
    tasks.finish();
    CHECK_THROWS_WITH_AS(tasks.check(), "no place", std::runtime_error);
    CHECK(done == 0);
  }
}

TEST_CASE("what follows a pause sees the tasks that gathered in it, and is called a last time at the end") {
  std::vector<int> gathered;
  std::vector<std::size_t> sizes;
  TaskThread tasks({.name = "ft-test",
                    .depth = 100,
                    .pause = [] { return std::chrono::hours(1); },
                    .after_pause = [&] { sizes.push_back(gathered.size()); }});
  for (int i = 0; i < 10; ++i) tasks.add([&gathered, i] { gathered.push_back(i); });
  tasks.wait_for_added()();
  CHECK(sizes == std::vector<std::size_t>{10});
  tasks.add([&gathered] { gathered.push_back(10); });
  tasks.finish();
  CHECK(sizes.back() == 11);
}

}  // namespace flowtrain::task_thread_test
