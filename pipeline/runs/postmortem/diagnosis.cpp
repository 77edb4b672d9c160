#include "pipeline/runs/postmortem/diagnosis.h"

#include <algorithm>
#include <map>
#include <utility>

#include "pipeline/base/telemetry/format.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

using State = FlightLog::State;
using Logs = std::vector<const FlightLog*>;

constexpr double together_s = 1.5;  // ranks that end within it count as ended at the same time
constexpr double still_s = 1;       // a rank that is in one place for so long is shown to stand still there
constexpr std::size_t most_others = 3;

std::string seconds_text(double span_s) { return printed("%.1f s", std::max(span_s, 0.0)); }

std::string of_iteration(std::uint64_t iteration) { return iteration > 0 ? concat(" of iteration ", iteration) : ""; }

const FlightThread* compute_of(const FlightLog& log) {
  const auto found = std::ranges::find_if(log.threads, &FlightThread::computes);
  return found == log.threads.end() ? nullptr : &*found;
}

bool loads(const FlightThread& thread) {
  return !thread.open.empty() && thread.open.back().kind == flight::Kind::loads;
}

/// Returns the thread that makes batches and has been longest at its work; null if none works.
const FlightThread* slowest_loading(const FlightLog& log) {
  const FlightThread* slowest = nullptr;
  for (auto& thread : log.threads)
    if (loads(thread) && (!slowest || thread.open.back().begin < slowest->open.back().begin)) slowest = &thread;
  return slowest;
}

/// Returns the thread that shows where a rank is; null if none does.
const FlightThread* thread_of_place(const FlightLog& log) {
  const FlightThread* compute = compute_of(log);
  if (!compute || compute->open.empty()) return nullptr;
  if (compute->open.back().kind != flight::Kind::waits) return compute;
  const FlightThread* loading = slowest_loading(log);
  return loading ? loading : compute;
}

std::string ranks_text(const Logs& logs) {
  return (logs.size() == 1 ? "rank " : "ranks ") + join(logs, ", ", [](auto* log) { return log->rank; });
}

/// Returns ", at the same time in …" with the other threads of a rank, first those that do not make batches.
std::string beside(const FlightLog& log) {
  const FlightThread* placed = thread_of_place(log);
  std::vector<std::pair<bool, FlightPosition>> others;
  for (auto& thread : log.threads) {
    if (&thread == placed || thread.computes()) continue;
    if (const auto position = position_of(thread, end_of_record(log))) others.emplace_back(loads(thread), *position);
  }
  std::ranges::stable_sort(
      others, [](auto& a, auto& b) { return a.first != b.first ? b.first : a.second.for_s > b.second.for_s; });
  if (others.size() > most_others) others.resize(most_others);
  if (others.empty()) return {};
  return ", at the same time in " + join(others, ", ", [](auto& each) { return each.second.text; });
}

/// Returns how many collectives a rank has entered, and whether it is inside one; of equals, those outside are behind.
std::pair<std::uint64_t, bool> progress_of(const FlightLog& log) {
  const auto last = last_collective(log);
  return last ? std::pair(last->entry.number, last->inside) : std::pair(std::uint64_t{0}, false);
}

/// Returns the rank that is behind the others; null if all have come equally far.
const FlightLog* behind(const Logs& logs) {
  const auto [least, most] =
      std::ranges::minmax_element(logs, {}, [](const FlightLog* log) { return progress_of(*log); });
  return progress_of(**least) == progress_of(**most) ? nullptr : *least;
}

/// Returns "; ranks 0, 2 waited for it in the collective `…` of iteration 812; rank 3 ended with: …"
std::string others_text(const std::vector<FlightLog>& logs, const FlightLog& culprit, const std::string& wait) {
  std::map<std::string, Logs> waiting;
  std::string failed;
  for (auto& log : logs) {
    if (&log == &culprit) continue;
    const auto last = last_collective(log);
    if (log.state == State::failed)
      failed += concat("; rank ", log.rank, " ended with: ", log.message);
    else if (log.state != State::ended && last && last->inside)
      waiting[concat("`", last->entry.place, "`", of_iteration(last->entry.iteration))].push_back(&log);
  }
  std::string text;
  for (auto& [what, ranks] : waiting) text += concat("; ", ranks_text(ranks), " ", wait, " in the collective ", what);
  return text + failed;
}

Logs in_state(const std::vector<FlightLog>& logs, State state) {
  Logs found;
  for (auto& log : logs)
    if (log.state == state) found.push_back(&log);
  return found;
}

/// Returns the rank that is behind among those that ended first.
const FlightLog& first_ended(const Logs& logs) {
  const FlightTime first = (*std::ranges::min_element(logs, {}, &FlightLog::last))->last;
  Logs candidates;
  for (auto* log : logs)
    if (seconds_between(first, log->last) <= together_s) candidates.push_back(log);
  const FlightLog* found = behind(candidates);
  return found ? *found : *candidates.front();
}

Diagnosis of_gone(const std::vector<FlightLog>& logs, const Logs& gone) {
  const FlightLog& first = first_ended(gone);
  const auto position = position_of(first);
  const bool all = gone.size() == logs.size() && logs.size() > 1;
  return {concat(all ? "all ranks were killed, or crashed: rank " : "rank ", first.rank,
                 all ? " was in " : " was killed, or crashed, in ", position.text, ", ", seconds_text(position.for_s),
                 " after it had begun", beside(first), others_text(logs, first, "waited for it")),
          first.rank, position};
}

Diagnosis of_stopped(const std::vector<FlightLog>& logs, const Logs& stopped) {
  const FlightLog* found = behind(stopped);
  const FlightLog& first = found ? *found : *stopped.front();
  const auto position = position_of(first);
  return {concat("the process of rank ", first.rank, " has not run for ",
                 seconds_text(seconds_between(first.last, first.now)),
                 " (stopped by a signal, or the machine is too busy), in ", position.text, beside(first),
                 others_text(logs, first, "wait for it")),
          first.rank, position};
}

// Diagnoses failed ranks. A rank that only lost another one ended because of that one.
Diagnosis of_failed(const std::vector<FlightLog>& logs, const Logs& failed) {
  const auto first = *std::ranges::min_element(failed, {}, [](const FlightLog* log) {
    return std::pair(log->exit_code == static_cast<std::uint64_t>(ExitCode::distributed), log->last);
  });
  const auto position = position_of(*first);
  const auto iteration = last_iteration(*first);
  return {concat("rank ", first->rank, " ended with an error", iteration ? concat(" in iteration ", iteration) : "",
                 ": ", first->message, others_text(logs, *first, "wait")),
          first->rank, position};
}

Diagnosis of_running(const std::vector<FlightLog>& logs, const Logs& running) {
  const FlightLog* late = running.size() > 1 ? behind(running) : running.front();
  const FlightLog& shown = late ? *late : *running.front();
  const auto position = position_of(shown);
  if (position.for_s >= still_s && !late)
    return {concat("all ranks have been in ", position.text, " for ", seconds_text(position.for_s)), std::nullopt,
            position};
  if (position.for_s >= still_s)
    return {concat("rank ", shown.rank, " is stuck in ", position.text, " for ", seconds_text(position.for_s),
                   others_text(logs, shown, running.size() > 2 ? "wait for it" : "waits for it")),
            shown.rank, position};
  std::string text = concat(running.size() > 1 ? "all ranks work" : "the run works", ": iteration ",
                            last_iteration(shown), ", in ", position.text);
  for (auto* log : running)
    if (const auto* loading = slowest_loading(*log))
      if (const auto at = position_of(*loading, log->last); at && at->for_s >= still_s)
        return {concat(text, "; but rank ", log->rank, " has been in ", at->text, " for ", seconds_text(at->for_s)),
                log->rank, *at};
  return {text, std::nullopt, position};
}

// Diagnoses ranks whose state cannot be seen.
Diagnosis of_unknown(const std::vector<FlightLog>& logs, const Logs& unknown) {
  const FlightLog* late = behind(unknown);
  const FlightLog& shown = late ? *late : *unknown.front();
  const auto position = position_of(shown);
  return {concat("this machine cannot see whether the processes run; at its last sign of life, rank ", shown.rank,
                 " was in ", position.text, " for ", seconds_text(position.for_s), others_text(logs, shown, "waited")),
          shown.rank, position};
}

// Returns ranks that failed by themselves before any was killed: the launcher kills the rest after a failure.
Logs failed_before(const std::vector<FlightLog>& logs, const Logs& gone) {
  const FlightTime first_gone = (*std::ranges::min_element(gone, {}, &FlightLog::last))->last;
  Logs failed = in_state(logs, State::failed);
  std::erase_if(failed, [&](const FlightLog* log) {
    return log->exit_code == static_cast<std::uint64_t>(ExitCode::distributed) || log->last >= first_gone;
  });
  return failed;
}

Diagnosis of_all(const std::vector<FlightLog>& logs) {
  if (const auto gone = in_state(logs, State::gone); !gone.empty()) {
    const auto failed = failed_before(logs, gone);
    return failed.empty() ? of_gone(logs, gone) : of_failed(logs, failed);
  }
  if (const auto stopped = in_state(logs, State::stopped); !stopped.empty()) return of_stopped(logs, stopped);
  if (const auto failed = in_state(logs, State::failed); !failed.empty()) return of_failed(logs, failed);
  if (const auto unknown = in_state(logs, State::unknown); !unknown.empty()) return of_unknown(logs, unknown);
  if (const auto running = in_state(logs, State::running); !running.empty()) return of_running(logs, running);
  return {concat(logs.size() > 1 ? "all ranks" : "the run", " ended without an error, after iteration ",
                 last_iteration(logs.front())),
          std::nullopt,
          {}};
}

}  // namespace

std::optional<FlightPosition> position_of(const FlightThread& thread, FlightTime until) {
  if (thread.open.empty()) return {};
  const auto& inner = thread.open.back();
  FlightTime since = inner.begin;
  std::string text = inner.kind == flight::Kind::collective ? "the collective `" : "`";
  text += join(thread.open, " > ", [](auto& entry) { return entry.place; }) + "`";
  if (thread.sample) {
    text += concat(" of sample ", thread.sample->id);
    if (!thread.sample->name.empty()) text += " (" + thread.sample->name + ")";
    since = thread.sample->since;
  } else if (inner.kind == flight::Kind::loads && inner.iteration > 0) {
    text += concat(" for iteration ", inner.iteration);
  } else {
    text += of_iteration(inner.iteration);
  }
  return FlightPosition{text, std::max(seconds_between(since, until), 0.0)};
}

FlightPosition position_of(const FlightLog& log) {
  const FlightThread* compute = compute_of(log);
  if (const FlightThread* thread = thread_of_place(log)) {
    auto position = *position_of(*thread, end_of_record(log));
    // Names what waits for the batch, if that is not training itself.
    if (thread != compute && compute->open.size() > 1)
      position.text += concat(" for `", compute->open.front().place, "`");
    return position;
  }
  if (!compute || compute->past.empty()) return {"its start", seconds_between(log.started, end_of_record(log))};
  const auto& last = compute->past.back();
  return {concat("the code after `", last.place, "`", of_iteration(last.iteration)),
          std::max(seconds_between(last.end, end_of_record(log)), 0.0)};
}

std::optional<LastCollective> last_collective(const FlightLog& log) {
  const FlightThread* compute = compute_of(log);
  if (!compute) return {};
  const auto is_collective = [](auto& entry) { return entry.kind == flight::Kind::collective; };
  for (auto entry = compute->open.rbegin(); entry != compute->open.rend(); ++entry)
    if (is_collective(*entry)) return LastCollective{*entry, true};
  for (auto entry = compute->past.rbegin(); entry != compute->past.rend(); ++entry)
    if (is_collective(*entry)) return LastCollective{*entry, false};
  return {};
}

std::uint64_t last_iteration(const FlightLog& log) {
  std::uint64_t last = 0;
  if (const FlightThread* compute = compute_of(log))
    for (auto* entries : {&compute->open, &compute->past})
      for (auto& entry : *entries) last = std::max(last, entry.iteration);
  return last;
}

Diagnosis diagnose(const std::vector<FlightLog>& logs) {
  Diagnosis found = of_all(logs);
  if (const auto world = logs.front().world; logs.size() < world)
    found.sentence += concat("; ", world - logs.size(), " ranks have no record here");
  return found;
}

}  // namespace flowtrain
