#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "pipeline/runs/postmortem/flight_log.h"
#include "sampling/core/error.h"
#include "stages/flight/flight.h"
#include "stages/flight/recorder.h"
#include "stages/system/named_thread.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::flight_test {
namespace {

using State = FlightLog::State;

FlightLog log_of(const TempFolder& folder, bool former = false) {
  return read_flights(folder.path(), former).logs.at(0);
}

const FlightThread& thread_called(const FlightLog& log, const std::string& name) {
  const auto found = std::ranges::find(log.threads, name, &FlightThread::name);
  REQUIRE(found != log.threads.end());
  return *found;
}

std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  const auto view = std::as_bytes(std::span(bytes));
  return {view.begin(), view.end()};
}

}  // namespace

TEST_CASE("flight record: places within places, samples and queues of a process that runs, and then has ended") {
  const TempFolder folder;
  const auto where = folder.path() / "flight";
  {
    const FlightRecorder recorder(where, 0, 1);
    flight_iteration(7);
    { const FlightSpan before({.name = "forward"}); }
    const FlightSpan outer({.name = "validation"});
    const FlightSpan inner({.name = "read", .iteration = 9, .kind = FlightKind::loads});
    FlightSample sample;
    CHECK(sample);
    sample.at(4711, "a/cat.jpg");
    const FlightQueue queue("batches ready", 6);
    queue.set(4);

    const auto log = log_of(folder);
    CHECK(log.state == State::running);
    CHECK(log.process == static_cast<std::uint64_t>(::getpid()));
    const auto& thread = thread_called(log, "compute");
    REQUIRE(thread.open.size() == 2);
    CHECK(thread.open[0].place == "validation");
    CHECK(thread.open[0].iteration == 7);
    CHECK(thread.open[1].place == "read");
    CHECK(thread.open[1].iteration == 9);
    CHECK(thread.open[1].kind == FlightKind::loads);
    CHECK(thread.open[1].begin >= thread.open[0].begin);
    REQUIRE(thread.sample);
    CHECK(thread.sample->id == 4711);
    CHECK(thread.sample->name == "a/cat.jpg");
    REQUIRE(thread.past.size() == 1);
    CHECK(thread.past[0].place == "forward");
    CHECK(thread.past[0].end >= thread.past[0].begin);
    REQUIRE(log.queues.size() == 1);
    CHECK(log.queues[0].name == "batches ready");
    CHECK(log.queues[0].fill == 4);
    CHECK(log.queues[0].capacity == 6);

    // A name that is too long keeps its end; another sample of the span has none.
    sample.at(3, std::string(500, 'x') + ".jpg");
    CHECK(thread_called(log_of(folder), "compute").sample->name == std::string(124, 'x') + ".jpg");
    sample.at(5);
    CHECK(thread_called(log_of(folder), "compute").sample->id == 5);
    CHECK(thread_called(log_of(folder), "compute").sample->name.empty());
  }
  CHECK(log_of(folder).state == State::ended);
  CHECK(thread_called(log_of(folder), "compute").open.empty());
  CHECK_FALSE(FlightSample());  // nothing records any more
  const FlightSpan nothing({.name = "forward"});
}

TEST_CASE("flight record: the last records of each thread are kept, and the file of the start before") {
  const TempFolder folder;
  const auto where = folder.path() / "flight";
  constexpr std::uint64_t spans = 1000;
  {
    const FlightRecorder recorder(where, 0, 1);
    for (std::uint64_t i = 1; i <= spans; ++i) const FlightSpan span({.name = "forward", .iteration = i});
    const auto past = thread_called(log_of(folder), "compute").past;
    REQUIRE(past.size() == flight::most_records);
    for (std::size_t i = 0; i < past.size(); ++i) CHECK(past[i].iteration == spans - past.size() + 1 + i);
    flight_failed("no more room", 4);
    flight_failed("later", 6);
  }
  CHECK_THROWS_AS(log_of(folder, true), UserError);
  {
    const FlightRecorder recorder(where, 0, 1);
    CHECK(thread_called(log_of(folder), "compute").past.empty());
    const auto former = log_of(folder, true);
    CHECK(former.state == State::failed);
    CHECK(former.message == "no more room");
    CHECK(former.exit_code == 4);
    CHECK(thread_called(former, "compute").past.size() == flight::most_records);
  }
}

TEST_CASE("flight record: places deeper than there is room for do no harm") {
  const TempFolder folder;
  const FlightRecorder recorder(folder.path() / "flight", 0, 1);
  const std::function<void(int)> enter = [&](int depth) {
    const FlightSpan span({.name = "forward", .number = static_cast<std::uint64_t>(depth)});
    if (depth < 20) enter(depth + 1);
    if (depth == 20) CHECK(thread_called(log_of(folder), "compute").open.size() == flight::most_depth);
  };
  enter(1);
  const auto thread = thread_called(log_of(folder), "compute");
  CHECK(thread.open.empty());
  CHECK(thread.past.size() == flight::most_depth);
}

TEST_CASE("flight record: a thread goes on in the slot of an ended one of its name; too many threads are counted") {
  const TempFolder folder;
  const FlightRecorder recorder(folder.path() / "flight", 0, 1);
  for (int i = 0; i < 5; ++i) named_thread("ft-snapshot", [] { const FlightSpan span({.name = "fsync"}); });
  const auto log = log_of(folder);
  CHECK(std::ranges::count(log.threads, "ft-snapshot", &FlightThread::name) == 1);
  CHECK(thread_called(log, "ft-snapshot").has_ended);
  CHECK(thread_called(log, "ft-snapshot").past.size() == 5);

  std::atomic<bool> over = false;
  std::atomic<int> there = 0;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < flight::most_threads + 4; ++i)
    threads.push_back(named_thread("many", [&] {
      const FlightSpan span({.name = "sample"});
      for (++there; !over;) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }));
  while (there < static_cast<int>(threads.size())) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto full = log_of(folder);
  over = true;
  CHECK(full.threads.size() == flight::most_threads);
  // One of them took the slot of ft-snapshot; the first thread has its own.
  CHECK(full.threads_without_place == 5);
}

TEST_CASE("flight record: who reads while threads write gets whole records") {
  const TempFolder folder;
  const FlightRecorder recorder(folder.path() / "flight", 0, 1);
  std::atomic<bool> over = false;
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 1; t <= 4; ++t)
    threads.push_back(named_thread("writes", [&over, t] {
      for (std::uint64_t i = 1; !over; ++i) {
        const FlightSpan outer({.name = "outer", .iteration = i, .number = i * t});
        FlightSample().at(i, "name");
        const FlightSpan inner({.name = "inner", .iteration = i, .number = i * t});
      }
    }));
  std::uint64_t seen = 0;
  for (int reads = 0; reads < 50; ++reads)
    for (auto& thread : log_of(folder).threads) {
      if (thread.name != "writes" || thread.past.empty()) continue;
      const std::uint64_t factor = thread.past[0].number / thread.past[0].iteration;
      for (auto& entry : thread.past) {
        ++seen;
        CHECK(entry.number == entry.iteration * factor);
        CHECK(entry.end >= entry.begin);
        CHECK(entry.place == (entry.depth == 0 ? "outer" : "inner"));
      }
    }
  over = true;
  CHECK(seen > 0);
}

TEST_CASE("flight record: what is no record, is cut off or is of another version is refused, with its name") {
  const TempFolder folder;
  { const FlightRecorder recorder(folder.path() / "flight", 0, 1); }
  const auto whole = bytes_of(folder.path() / "flight/rank-0.bin");
  CHECK_NOTHROW(parse_flight(whole, {}, "file"));
  const auto message = [](std::span<const std::byte> bytes) -> std::string {
    try {
      parse_flight(bytes, {}, "some/file");
    } catch (const UserError& error) {
      CHECK(error.code() == ExitCode::data);
      return error.what();
    }
    return "read";
  };
  for (const std::size_t size : {std::size_t{0}, std::size_t{7}, std::size_t{100}, whole.size() / 2, whole.size() - 1})
    CHECK(message(std::span(whole).first(size)).starts_with("some/file: "));
  CHECK(message(std::span(whole).first(whole.size() / 2)).find("cut off") != std::string::npos);
  auto other = whole;
  other[8] = std::byte{99};
  CHECK(message(other).find("another version of flowtrain wrote this flight record (99)") != std::string::npos);
  other = whole;
  other[0] = std::byte{0};
  CHECK(message(other).find("not a flight record") != std::string::npos);

  // Any other damage is read without harm.
  for (std::size_t at = 24; at < whole.size(); at += at < 80'000 ? 61 : 4'099) {
    other = whole;
    other[at] = std::byte{0xff};
    message(other);
  }
}

TEST_CASE("flight record: a folder that cannot be written is an error that names it") {
  const TempFolder folder;
  folder.write("flight", "a file");
  try {
    const FlightRecorder recorder(folder.path() / "flight", 0, 1);
    FAIL("no error");
  } catch (const UserError& error) {
    CHECK(std::string(error.what()).find("flight/rank-0.bin: Not a directory") != std::string::npos);
  }
  CHECK_FALSE(FlightSample());
}

}  // namespace flowtrain::flight_test
