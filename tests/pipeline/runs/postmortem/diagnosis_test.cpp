#include "pipeline/runs/postmortem/diagnosis.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "pipeline/runs/postmortem/report.h"

namespace flowtrain::diagnosis_test {
namespace {

using Kind = flight::Kind;
using State = FlightLog::State;

constexpr FlightTime second = 1'000'000'000, start = 1'700'000'000 * second;

FlightTime at(double time_s) { return start + static_cast<FlightTime>(time_s * 1e9); }

FlightEntry entry(const std::string& place, double begin_s, double end_s, Kind kind = Kind::work,
                  std::uint64_t number = 0) {
  return {.place = place,
          .kind = kind,
          .begin = at(begin_s),
          .end = end_s > 0 ? at(end_s) : 0,
          .iteration = 812,
          .number = number};
}

/// A rank that has left collective `number`, at 10 s.
FlightLog rank(std::uint64_t number, std::uint64_t world, State state, std::uint64_t collective, double last_s) {
  FlightLog log{.rank = number, .world = world, .boot = 1, .host = "n0", .state = state};
  log.started = at(0);
  log.now = log.last = at(last_s);
  FlightThread compute{.name = "compute"};
  compute.past.push_back(entry("the averaging of gradients", 9, 10, Kind::collective, collective));
  log.threads.push_back(compute);
  return log;
}

/// It is in the one after it.
FlightLog in_collective(FlightLog log, double begin_s) {
  const auto last = log.threads[0].past.back().number;
  log.threads[0].open.push_back(entry("the averaging of gradients", begin_s, 0, Kind::collective, last + 1));
  return log;
}

/// It waits for a batch, of which a thread reads a sample.
FlightLog in_read(FlightLog log, double begin_s) {
  log.threads[0].open.push_back(entry("data", begin_s, 0, Kind::waits));
  FlightThread reader{.name = "ft-read"};
  reader.open.push_back(entry("read", begin_s, 0, Kind::loads));
  reader.sample = FlightSampleAt{4711, "cat/7.jpg", at(begin_s)};
  log.threads.push_back(reader);
  return log;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("postmortem: a rank that stands still in a read is named, and those that wait for it") {
  const std::vector logs{in_collective(rank(0, 3, State::running, 1623, 22), 10),
                         in_read(rank(1, 3, State::running, 1623, 22), 10),
                         in_collective(rank(2, 3, State::running, 1623, 22), 10.1)};
  const auto found = diagnose(logs);
  CHECK(found.rank == 1);
  CHECK(found.sentence ==
        "rank 1 is stuck in `read` of sample 4711 (cat/7.jpg) for 12.0 s; ranks 0, 2 wait for it in the collective "
        "`the averaging of gradients` of iteration 812");
}

TEST_CASE("postmortem: of ranks that are gone the first counts, and where they went together the one that was behind") {
  std::vector logs{in_collective(rank(0, 2, State::failed, 8, 12), 10),
                   in_collective(rank(1, 2, State::gone, 8, 11), 10)};
  logs[0].message = "lost the other processes";
  logs[0].exit_code = 6;
  auto found = diagnose(logs);
  CHECK(found.rank == 1);
  CHECK(
      found.sentence ==
      "rank 1 was killed, or crashed, in the collective `the averaging of gradients` of iteration 812, 1.0 s after it "
      "had begun; rank 0 ended with: lost the other processes");

  logs = {in_collective(rank(0, 2, State::gone, 8, 20), 10), in_read(rank(1, 2, State::gone, 8, 20.5), 10)};
  found = diagnose(logs);
  CHECK(found.rank == 1);
  CHECK(has(found.sentence, "all ranks were killed, or crashed: rank 1 was in `read` of sample 4711"));
  CHECK(has(found.sentence, "rank 0 waited for it in the collective"));

  logs = {in_collective(rank(0, 2, State::gone, 8, 20), 10), in_read(rank(1, 2, State::gone, 8, 40), 10)};
  CHECK(diagnose(logs).rank == 0);
}

TEST_CASE("postmortem: a thread that writes a snapshot is named beside the compute thread") {
  FlightLog log = rank(0, 1, State::gone, 0, 11);
  log.threads[0].past.clear();
  log.threads[0].open.push_back(entry("backward", 10.9, 0));
  FlightThread writer{.name = "ft-snapshot"};
  writer.open = {entry("snapshot file", 10, 0), entry("model.safetensors", 10, 0), entry("fsync", 10.5, 0)};
  log.threads.push_back(writer);
  CHECK(diagnose({log}).sentence ==
        "rank 0 was killed, or crashed, in `backward` of iteration 812, 0.1 s after it had begun, at the same time in "
        "`snapshot file > model.safetensors > fsync` of iteration 812");
}

TEST_CASE("postmortem: a stopped process, an error, ranks that work, ranks that have ended") {
  std::vector logs{in_collective(rank(0, 2, State::running, 8, 30), 10), rank(1, 2, State::stopped, 8, 10)};
  logs[1].now = at(30);
  CHECK(diagnose(logs).rank == 1);
  CHECK(has(diagnose(logs).sentence, "the process of rank 1 has not run for 20.0 s"));

  logs = {rank(0, 2, State::failed, 8, 20), rank(1, 2, State::failed, 8, 21)};
  logs[0].exit_code = 6;
  logs[0].message = "lost the other processes";
  logs[1].exit_code = 5;
  logs[1].message = "the loss is not finite";
  CHECK(diagnose(logs).sentence ==
        "rank 1 ended with an error in iteration 812: the loss is not finite; rank 0 ended with: lost the other "
        "processes");

  logs = {in_collective(rank(0, 2, State::running, 8, 10.2), 10.1), rank(1, 2, State::running, 8, 10.2)};
  CHECK_FALSE(diagnose(logs).rank);
  CHECK(has(diagnose(logs).sentence, "all ranks work: iteration 812"));

  logs = {in_collective(rank(0, 2, State::running, 8, 15), 10), in_collective(rank(1, 2, State::running, 8, 15), 10)};
  CHECK_FALSE(diagnose(logs).rank);
  CHECK(has(diagnose(logs).sentence, "all ranks have been in the collective"));

  // Batches that were ready keep it going for a while.
  FlightLog busy = in_read(rank(0, 1, State::running, 8, 20), 10);
  busy.threads[0].open = {entry("forward", 19.9, 0)};
  CHECK(diagnose({busy}).sentence ==
        "the run works: iteration 812, in `forward` of iteration 812; but rank 0 has been in `read` of sample 4711 "
        "(cat/7.jpg) for 10.0 s");

  CHECK(diagnose({rank(0, 1, State::ended, 8, 20)}).sentence == "the run ended without an error, after iteration 812");
  CHECK(has(diagnose({rank(0, 3, State::ended, 8, 20)}).sentence, "2 ranks have no record here"));
}

TEST_CASE("postmortem: tables, and JSON with each record of the last seconds") {
  auto log = in_read(rank(1, 2, State::running, 1623, 22), 10);
  log.queues.push_back({"batches ready", 0, 6});
  const std::vector logs{in_collective(rank(0, 2, State::running, 1623, 22), 10), log};
  const auto text = postmortem_text(logs, 13);
  CHECK(text.starts_with("rank 1 is stuck in `read` of sample 4711"));
  CHECK(has(text, "in 1624, the averaging of gradients, 12.000 s"));
  CHECK(has(text, "1     batches ready  0 of 6"));
  CHECK(has(text, "the averaging of gradients  1      1.000 s  1.000 s  12.000 s ago"));
  CHECK_FALSE(has(postmortem_text(logs, 5), "1.000 s  1.000 s"));

  const auto good = postmortem_text({rank(0, 1, State::ended, 8, 20)}, 13);
  CHECK(has(good, "the run ended without an error"));
  CHECK(std::ranges::count(good, '\n') == 4);

  const auto json = nlohmann::json::parse(postmortem_json(logs, 13));
  CHECK(json.at("rank") == 1);
  CHECK(json.at("ranks").at(0).at("collective").at("inside") == true);
  CHECK(json.at("ranks").at(0).at("collective").at("number") == 1624);
  CHECK(json.at("ranks").at(1).at("threads").at(1).at("sample").at("id") == 4711);
  CHECK(json.at("ranks").at(0).at("threads").at(0).at("past").size() == 1);
  CHECK(nlohmann::json::parse(postmortem_json(logs, 5)).at("ranks").at(0).at("threads").at(0).at("past").empty());
}

}  // namespace flowtrain::diagnosis_test
