#pragma once
// Accidents at moments drawn from a seed. A moment is an event of the run (the n-th line of a kind on its terminal, or
// its n-th call on the run's folder), and a little later.

#include <ostream>

#include "tests/program/ranks.h"
#include "tests/program/stress/combination.h"
#include "tests/support/paths.h"

namespace flowtrain {

/// A signal to one process of a run.
struct Disturbance {
  int signal = SIGKILL;
  int rank = -1;              ///< to whom; -1: to the process that the user started
  std::string after;          ///< how the line on the terminal begins that comes before; empty: the start
  std::size_t times = 1;      ///< the how many-th of them
  std::int64_t delay_us = 0;  ///< and how much later
  int call = 0;               ///< instead of a line: the call on the run's folder at which each process kills itself
};

inline std::ostream& operator<<(std::ostream& stream, const Disturbance& moment) {
  if (moment.call > 0) return stream << "SIGKILL at call " << moment.call << " on the run's folder";
  stream << "SIG" << ::sigabbrev_np(moment.signal);
  if (moment.rank >= 0) stream << " to rank " << moment.rank;
  stream << ", " << static_cast<double>(moment.delay_us) / 1000 << " ms after ";
  if (moment.after.empty()) return stream << "the start";
  return stream << "line " << moment.times << " of \"" << moment.after << "\"";
}

inline Disturbance draw_disturbance(Draw& draw, const Combination& combination) {
  Disturbance moment;
  if (draw.chance(0.25)) {
    moment.call = draw.between(1, 60);
    return moment;
  }
  moment.signal = draw.of(std::vector{SIGKILL, SIGKILL, SIGTERM, SIGINT, SIGHUP, SIGUSR1});
  moment.after = draw.of({"", "iter ", "iter ", "iter ", "iter ", "snapshot ", "snapshot ", "validation at"});
  // Few enough for the moment to come, and for some of the run to be left for the next one.
  const int most = moment.after == "iter " ? std::max(1, combination.lines / 4) : 2;
  moment.times = static_cast<std::size_t>(draw.between(1, most));
  moment.delay_us = draw.between(0, moment.after.empty() ? 1'500'000 : 30'000);
  // At the start there may be no ranks yet.
  if (combination.processes > 1 && !moment.after.empty() && draw.chance(0.6))
    moment.rank = draw.between(0, combination.processes - 1);
  return moment;
}

/// Whether a run that met `moment` may end so. It may have been over before.
inline bool may_end_so(const Outcome& outcome, const Disturbance& moment, const Combination& combination) {
  if (outcome.timed_out) return false;
  if (outcome.code == 0) return true;
  // Killed itself, or the signal came before the program was ready for it.
  if (outcome.signal != 0) return outcome.signal == moment.signal;
  constexpr int rank_lost = 6;
  if (combination.processes > 1 && outcome.code == rank_lost) return moment.rank >= 0 || moment.call > 0;
  return moment.signal != SIGKILL && outcome.code == (moment.signal == SIGINT ? 130 : 143);
}

/// Runs the program with `words`, on the run in folder `run`, and disturbs it.
inline Outcome run_disturbed(const Words& words, ProcessOptions process_options, const fs::path& run,
                             const Disturbance& moment) {
  if (moment.call > 0) {
    process_options.environment = {{"LD_PRELOAD", test::build_path("lib/libfault_shim.so")},
                                   {"FAULT_BELOW", run.string()},
                                   {"FAULT_AT", std::to_string(moment.call)},
                                   {"FAULT", "KILL"}};
    return run_program(words, process_options);
  }
  Process process(words, process_options);
  if (moment.after.empty() || process.wait_for_text("\n" + moment.after, {}, 600, moment.times)) {
    std::this_thread::sleep_for(std::chrono::microseconds(moment.delay_us));
    if (moment.rank < 0)
      process.send(moment.signal);
    else if (const int rank = find_rank_process(run.string(), moment.rank))
      ::kill(rank, moment.signal);
  }
  return process.wait();
}

}  // namespace flowtrain
