#include "tests/crash/crash_selftest.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <string_view>
#include <system_error>
#include <utility>

#include "pipeline/base/snapshot/file.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "tests/crash/disk_states.h"
#include "tests/crash/snapshot_check.h"

namespace flowtrain {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t max_problems = 10;
constexpr std::uint64_t seed = 1;
constexpr std::uint64_t selftest_saves = 4;

/// A fresh folder, removed at the end.
class Scratch {
 public:
  explicit Scratch(fs::path path) : path_(std::move(path)) { renew(); }
  Scratch(const Scratch&) = delete;
  ~Scratch() { remove_quietly(path_); }

  /// Empties it. Returns its path without links.
  fs::path renew() {
    remove_quietly(path_);
    make_folders(path_);
    return fs::canonical(path_);
  }

 private:
  fs::path path_;
};

void note(Findings& findings, const std::string& accident, const std::string& wrong) {
  if (!wrong.empty() && findings.problems.size() < max_problems) findings.problems.push_back(accident + ": " + wrong);
}

/// Numbers the accidents that there are, and counts those that are tried.
class Points {
 public:
  Points(Findings& findings, const PointFilter& includes) : findings_(findings), includes_(includes) {}
  /// Goes to the next point; false where it is not to be tried.
  bool next() {
    ++number_;
    if (includes_ && !includes_(number_)) return false;
    ++findings_.points;
    return true;
  }
  std::string name() const { return "point " + std::to_string(number_) + ": "; }

 private:
  Findings& findings_;
  const PointFilter& includes_;
  std::uint64_t number_ = 0;
};

std::string describe(const TracedCall& call, std::uint64_t number) {
  return "call " + std::to_string(number) + ", " + call.name + " " + call.path.string();
}

Promise promise_of(const Trace& trace, const Workload& workload) {
  Promise promise{.last = workload.last};
  for (const auto& call : trace.calls)
    if (call.action == Action::report) promise.take(call.text);
  return promise;
}

Trace run_workload(const fs::path& folder, const Workload& workload, const Fault& fault = {}) {
  return run_traced(
      folder, [&](const Report& report) { workload.run(folder / "snapshots", report); }, fault);
}

/// The calls of the workload without an accident. Throws where it fails even so: then the disk is not usable.
std::vector<TracedCall> calls_of(Scratch& scratch, const Workload& workload) {
  auto trace = run_workload(scratch.renew(), workload);
  for (const auto& call : trace.calls)
    if (call.action == Action::report && !call.text.starts_with("saved") && !call.text.starts_with("best"))
      throw UserError(ExitCode::snapshot, "saving does not work even without accidents: " + call.text);
  if (trace.exit_code != 0)
    throw InternalError("the self test's child ended by signal " + std::to_string(trace.signal));
  std::erase_if(trace.calls, [](const TracedCall& call) { return call.action == Action::report; });
  return std::move(trace.calls);
}

std::ptrdiff_t open_descriptors() {
  return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
}

/// Whether POSIX lets one try again after this failure, so that it need not be one.
bool can_go_on(const TracedCall& call, const Fault& fault) {
  if (fault.kind == Fault::short_write) return true;
  const bool names_eintr = call.action == Action::open || call.action == Action::read || call.action == Action::write ||
                           call.action == Action::sync || call.action == Action::close;
  return fault.error == EINTR && names_eintr;
}

/// What is wrong with a run in which `fault` has hit `call`.
std::string check_failed_run(const Trace& trace, const TracedCall& call, const Fault& fault, const fs::path& folder) {
  if (trace.exit_code != 0) {
    const auto& last = trace.calls.empty() ? call : trace.calls.back();
    return "the process ended by " + (trace.signal ? "signal " + std::to_string(trace.signal) : last.text);
  }
  for (const auto& each : trace.calls) {
    if (each.action != Action::report) continue;
    if (each.text.starts_with("wrong")) return each.text;
    if (!each.text.starts_with("failed")) continue;
    if (can_go_on(call, fault)) return "it could have been tried again, but " + each.text;
    const auto reason = std::generic_category().message(fault.error);
    if (each.text.find(folder.string()) == std::string::npos || each.text.find(reason) == std::string::npos)
      return "the message lacks the file or the reason: " + each.text;
  }
  return {};
}

}  // namespace

Workload saving(std::uint64_t last) {
  return {[last](const fs::path& snapshots_dir, const Report& report) {
            Promise promise{.last = last};
            const auto attempt = [&](const std::string& done, const std::function<void()>& action) {
              try {
                action();
                if (done.empty()) return;
                report(done);
                promise.take(done);
              } catch (const UserError& error) {
                report("failed: " + first_line(error.what()));
                if (const auto wrong = check_promise(snapshots_dir, promise); !wrong.empty()) report("wrong: " + wrong);
              }
            };
            const auto save = [&](std::uint64_t iteration) {
              attempt("saved " + std::to_string(iteration),
                      [&] { write_snapshot(snapshots_dir, KnownContent(iteration).content()); });
            };
            for (std::uint64_t iteration = 1; iteration <= last; ++iteration) {
              save(iteration);
              if (iteration == 2 && promise.saved == 2) attempt("best 2", [&] { link_snapshot(snapshots_dir, 2); });
              attempt({}, [&] { prune(snapshots_dir, 2); });
            }
            save(last);
            report("saved " + std::to_string(last - 1));  // from here on the last one may be gone
            promise.saved = last - 1;
            attempt({}, [&] { set_aside_newer(snapshots_dir, last - 1); });
            save(last);
          },
          last};
}

Findings try_kills(const fs::path& folder, const Workload& workload, const PointFilter& includes) {
  Scratch scratch(folder);
  Findings findings;
  Points points(findings, includes);
  const auto calls = calls_of(scratch, workload);
  for (std::uint64_t at = 0; at < calls.size(); ++at) {
    for (const auto kind : {Fault::kill_before, Fault::kill_after}) {
      if (!points.next()) continue;
      const auto place = scratch.renew();
      const auto trace = run_workload(place, workload, {kind, at});
      const auto accident =
          points.name() + (kind == Fault::kill_before ? "killed before " : "killed after ") + describe(calls[at], at);
      if (trace.signal == 0) note(findings, accident, "the process was not killed");
      note(findings, accident, check_promise(place / "snapshots", promise_of(trace, workload)));
      note(findings, accident, check_next_save(place / "snapshots", workload.last + 1));
    }
  }
  return findings;
}

Findings try_errors(const fs::path& folder, const Workload& workload, std::span<const int> errors,
                    const PointFilter& includes) {
  Scratch scratch(folder);
  Findings findings;
  Points points(findings, includes);
  const auto calls = calls_of(scratch, workload);
  const auto attempt = [&](const TracedCall& call, const Fault& fault) {
    if (!points.next()) return;
    const auto place = scratch.renew();
    const auto body = [&](const Report& report) {
      const auto before = open_descriptors();
      workload.run(place / "snapshots", report);
      if (const auto wrong = check_next_save(place / "snapshots", workload.last + 1); !wrong.empty())
        report("wrong: " + wrong);
      if (const auto more = open_descriptors() - before; more != 0)
        report("wrong: " + std::to_string(more) + " descriptors were not closed");
    };
    const auto trace = run_traced(place, body, fault);
    const auto accident = points.name() +
                          (fault.kind == Fault::fail ? std::generic_category().message(fault.error) : "short write") +
                          " at " + describe(call, fault.at);
    note(findings, accident, check_failed_run(trace, call, fault, place));
  };
  for (std::uint64_t at = 0; at < calls.size(); ++at) {
    for (const int error : errors) attempt(calls[at], {Fault::fail, at, error});
    if (calls[at].data.size() > 1) attempt(calls[at], {Fault::short_write, at});
  }
  return findings;
}

DiskLog record(const fs::path& folder, const Workload& workload) {
  Scratch scratch(folder);
  const auto place = scratch.renew();
  return disk_log(place, run_workload(place, workload).calls);
}

Findings try_power_cuts(const fs::path& folder, const DiskLog& log, std::uint64_t last, std::uint64_t limit,
                        const PointFilter& includes) {
  const Scratch scratch(folder);
  Findings findings;
  Points points(findings, includes);
  std::vector<Promise> promises{{.last = last}};  // by number of steps
  for (const auto& step : log.steps) {
    auto promise = promises.back();
    if (step.kind == DiskStep::report) promise.take(step.line);
    promises.push_back(promise);
  }
  for_each_state(log, limit, seed, [&](const DiskState& state) {
    if (!points.next()) return;
    materialise(state, folder);
    const auto accident = points.name() + "power cut after step " + std::to_string(state.steps);
    note(findings, accident, check_promise(folder / "snapshots", promises[state.steps]));
    if (state.steps % 10 == 0) note(findings, accident, check_next_save(folder / "snapshots", last + 1));
  });
  return findings;
}

ExitCode crash_selftest(const fs::path& folder, std::uint64_t states, std::ostream& out) {
  if (!fs::is_directory(folder))
    throw UserError(ExitCode::snapshot, folder.string() + ": no such folder", "name a folder on the disk to test");
  if (const auto why = why_no_tracing(); !why.empty())
    throw UserError(ExitCode::usage, "the crash self test is not supported on this machine: " + why);
  const auto place = folder / ("flowtrain-selftest-" + std::to_string(::getpid()));
  const auto workload = saving(selftest_saves);
  bool good = true;
  const auto part = [&](const char* name, const std::function<Findings()>& attempt) {
    const auto begin = std::chrono::steady_clock::now();
    const auto findings = attempt();
    const auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    out << name << findings.points << " points, " << (findings.problems.empty() ? "good" : "BAD") << " ("
        << std::lround(seconds) << " s)\n";
    for (const auto& problem : findings.problems) out << "  " << problem << '\n';
    out.flush();
    good &= findings.problems.empty();
  };
  part("killed at every call:    ", [&] { return try_kills(place, workload); });
  part("errors at every call:    ", [&] { return try_errors(place, workload); });
  part("states after power cuts: ",
       [&] { return try_power_cuts(place, record(place, workload), workload.last, states); });
  out << (good ? "snapshots in " + folder.string() + " survive all of these\n"
               : "snapshots in " + folder.string() + " are NOT safe: see above\n");
  return good ? ExitCode::ok : ExitCode::snapshot;
}

}  // namespace flowtrain
