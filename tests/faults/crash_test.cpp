// Kills, errors and power cuts at every system call of saves; and that the checker finds what is planted.
#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <sstream>

#include "sampling/core/error.h"
#include "tests/crash/crash_selftest.h"
#include "tests/crash/snapshot_check.h"
#include "tests/support/fast_folder.h"
#include "tests/support/fault_points.h"
#include "tests/support/program.h"
#include "tests/support/skip.h"
#include "tests/support/temp_folder.h"

namespace flowtrain::crash_test {

using namespace flowtrain::test;

namespace {

void check(const Findings& findings, FaultPoints& points) {
  INFO(points.repeat());
  for (const auto& problem : findings.problems) FAIL_CHECK(problem);
  points.count(findings.points);
  points.finish();
}

PointFilter filter(const FaultPoints& points) {
  return [&points](std::uint64_t point) { return points.includes(point); };
}

/// Saves that go to the disk in some other way than write_snapshot()'s.
Workload saving_by(const std::function<void(const fs::path& snapshots_dir, std::uint64_t iteration)>& save) {
  return {[save](const fs::path& snapshots_dir, const Report& report) {
            fs::create_directories(snapshots_dir);
            for (std::uint64_t iteration = 1; iteration <= 2; ++iteration) {
              save(snapshots_dir, iteration);
              report("saved " + std::to_string(iteration));
            }
          },
          2};
}

/// The log of good saves with some of their steps left out.
DiskLog without(DiskLog log, const std::function<bool(const DiskStep&)>& left_out) {
  std::erase_if(log.steps, left_out);
  return log;
}

}  // namespace

TEST_CASE("kill: what was saved is found, whichever call a save is killed at" * points_sampled) {
  SKIP_UNLESS(why_no_tracing().empty(), "ptrace", why_no_tracing());
  const FastFolder folder;
  FaultPoints points("kills at a call of a save");
  check(try_kills(folder / "kills", saving(4), filter(points)), points);
}

TEST_CASE("errors: the one before stays, the next one is good, nothing leaks, whichever call fails" * points_sampled) {
  SKIP_UNLESS(why_no_tracing().empty(), "ptrace", why_no_tracing());
  const FastFolder folder;
  std::vector<int> errors(std::begin(usual_errors), std::end(usual_errors));
  if (times() > 1) errors.insert(errors.end(), {EACCES, EMFILE, ENOMEM, ESTALE});
  FaultPoints points("calls of a save that fail");
  check(try_errors(folder / "errors", saving(4), errors, filter(points)), points);
}

TEST_CASE("power cut: what was saved is found in each state that a disk may be left in" * points_sampled) {
  SKIP_UNLESS(why_no_tracing().empty(), "ptrace", why_no_tracing());
  const FastFolder folder;
  const auto log = record(folder / "record", saving(6));
  FaultPoints points("states of the disk after power cuts");
  check(try_power_cuts(folder / "states", log, 6, 10'000, filter(points)), points);
}

TEST_CASE("the checker: a missing fsync of files, folder or parent is found") {
  SKIP_UNLESS(why_no_tracing().empty(), "ptrace", why_no_tracing());
  const FastFolder folder;
  const auto log = record(folder / "record", saving(3));
  const auto node_kind = [&](const DiskStep& step) { return log.nodes[static_cast<std::size_t>(step.node)].kind; };
  const int snapshots_node = log.steps.front().changes.at(0).node;  // mkdir snapshots comes first
  const auto bad_states = [&](const std::function<bool(const DiskStep&)>& left_out) {
    const auto poorer = without(log, [&](const DiskStep& s) { return s.kind == DiskStep::sync && left_out(s); });
    REQUIRE(poorer.steps.size() < log.steps.size());
    return try_power_cuts(folder / "states", poorer, 3, 3000).problems;
  };
  CHECK(bad_states([](const DiskStep&) { return true; }).size() > 0);
  CHECK(bad_states([&](const DiskStep& s) { return node_kind(s) == DiskNode::file; }).size() > 0);
  CHECK(bad_states([&](const DiskStep& s) { return s.node == snapshots_node; }).size() > 0);
  CHECK(bad_states([&](const DiskStep& s) { return s.node == 0; }).size() > 0);
  CHECK(bad_states([&](const DiskStep& s) {
          return node_kind(s) == DiskNode::folder && s.node != 0 && s.node != snapshots_node;
        }).size() > 0);
}

TEST_CASE("the checker: saves that remove the old one first, or write in place, are found") {
  SKIP_UNLESS(why_no_tracing().empty(), "ptrace", why_no_tracing());
  const FastFolder folder;
  const auto early = saving_by([](const fs::path& snapshots_dir, std::uint64_t iteration) {
    fs::remove_all(snapshots_dir / snapshot_name(iteration - 1));
    write_snapshot(snapshots_dir, KnownContent(iteration).content());
  });
  const auto killed = try_kills(folder / "kills", early).problems;
  REQUIRE(killed.size() > 0);
  CHECK(killed.front().find("iteration 1 was saved, none is found") != std::string::npos);

  const auto unlucky = saving_by([](const fs::path& snapshots_dir, std::uint64_t iteration) {
    try {
      write_snapshot(snapshots_dir, KnownContent(iteration).content());
    } catch (const UserError&) {
      fs::remove_all(snapshots_dir);
    }
  });
  CHECK(try_errors(folder / "errors", unlucky).problems.size() > 0);
}

TEST_CASE("traced child: calls, lines and ends are told; a leak and a crash are found") {
  SKIP_UNLESS(why_no_tracing().empty(), "ptrace", why_no_tracing());
  const FastFolder folder;
  const auto& place = folder.path();
  const auto body = [&](const Report& report) {
    report("first");
    File file = File::create(place / "f");
    file.write("12345678");
    report("second");
  };
  const auto text = [](const Trace& trace) {
    std::string all;
    for (const auto& call : trace.calls) all += call.name + (call.text.empty() ? "" : ":" + call.text) + " ";
    return all;
  };
  const auto trace = run_traced(place, body);
  CHECK(text(trace) == "report:first openat write report:second close ");
  CHECK(trace.exit_code == 0);
  CHECK(trace.calls[2].data.size() == 8);
  CHECK(trace.calls[2].path == place / "f");

  fs::remove(place / "f");
  const auto killed = run_traced(place, body, {Fault::kill_before, 1});
  CHECK(killed.signal == SIGKILL);
  CHECK(fs::file_size(place / "f") == 0);
  fs::remove(place / "f");
  CHECK(run_traced(place, body, {Fault::kill_after, 1}).signal == SIGKILL);
  CHECK(fs::file_size(place / "f") == 8);
  fs::remove(place / "f");
  CHECK(text(run_traced(place, body, {Fault::short_write, 1})) == "report:first openat write report:second ");
  CHECK(fs::file_size(place / "f") == 8);
  fs::remove(place / "f");
  const auto failed = run_traced(place, body, {Fault::fail, 1, ENOSPC});
  CHECK(failed.exit_code == 1);
  CHECK(text(failed).find("died: " + (place / "f").string() + ": write: No space left on device") != std::string::npos);
  CHECK(fs::file_size(place / "f") == 0);

  const PointFilter few = [](std::uint64_t point) { return point % 25 == 1; };
  const Workload leaks{[](const fs::path& snapshots_dir, const Report& report) {
                         saving(3).run(snapshots_dir, report);
                         if (::dup(0) < 0) report("wrong: dup");
                       },
                       3};
  CHECK(try_errors(folder / "errors", leaks, usual_errors, few).problems.front().find("descriptors were not closed") !=
        std::string::npos);
  const Workload crashes{[](const fs::path& snapshots_dir, const Report& report) {
                           try {
                             write_snapshot(snapshots_dir, KnownContent(1).content());
                           } catch (const UserError&) {
                             ::raise(SIGSEGV);
                           }
                           report("saved 1");
                         },
                         1};
  CHECK(try_errors(folder / "errors", crashes, usual_errors, few).problems.front().find("ended by signal 11") !=
        std::string::npos);
}

TEST_CASE("self test: refuses what is no folder") {
  SKIP_UNLESS(why_no_tracing().empty(), "ptrace", why_no_tracing());
  std::ostringstream out;
  CHECK_THROWS_WITH_AS(crash_selftest("/proc/none", 1, out), "/proc/none: no such folder", UserError);
  CHECK(out.str().empty());
}

TEST_CASE("self test: its program helps, and says what is wrong with its arguments") {
  const TempFolder folder;
  ProcessOptions place{folder.path()};
  place.program = test::build_path("bin/flowtrain-selftest");
  const auto help = run_program({"--help"}, place);
  CHECK(help.code == 0);
  CHECK(help.out.find("flowtrain-selftest") != std::string::npos);
  CHECK(run_program({}, place).code == 2);
  SKIP_UNLESS(why_no_tracing().empty(), "ptrace", why_no_tracing());
  const auto missing = run_program({"/proc/none"}, place);
  CHECK(missing.code == 4);
  CHECK(missing.err.find("/proc/none: no such folder") != std::string::npos);
}

}  // namespace flowtrain::crash_test
