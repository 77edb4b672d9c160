#include "pipeline/runs/verify/compare_runs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "pipeline/base/config/run_folder.h"
#include "pipeline/base/telemetry/json_lines.h"
#include "pipeline/runs/verify/recorded_run.h"
#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t hash_digits = 16;

// A value that is missing is "(none)", like a key of a configuration.
std::string text_or_none(const ordered_json& object, const std::string& key) {
  const auto found = object.find(key);
  if (found == object.end()) return "(none)";
  return found->is_string() ? found->get<std::string>() : found->dump();
}

std::string hash_in_row(const std::string& hashes, std::size_t row) {
  return row * hash_digits < hashes.size() ? hashes.substr(row * hash_digits, hash_digits) : "(none)";
}

std::optional<std::uint64_t> id_in(const ordered_json& ids, std::size_t row) {
  return row < ids.size() ? std::optional(ids[row].get<std::uint64_t>()) : std::nullopt;
}

std::string id_text(const std::optional<std::uint64_t>& id) { return id ? std::to_string(*id) : "(none)"; }

double relative_difference(const ordered_json& a, const ordered_json& b) {
  if (!a.is_number() || !b.is_number()) return 0;
  const double one = a, other = b, larger = std::max(std::abs(one), std::abs(other));
  return larger > 0 ? std::abs(one - other) / larger : 0;
}

// Returns the members of both objects, in the order of `a`.
std::vector<std::string> member_names(const ordered_json& a, const ordered_json& b) {
  std::vector<std::string> names;
  for (auto& [name, value] : a.items()) names.push_back(name);
  for (auto& [name, value] : b.items())
    if (!a.contains(name)) names.push_back(name);
  return names;
}

// Collects what was compared. `counts`: whether the iteration counts for the part, or was counted before.
class RunComparing {
 public:
  ComparedPart& part(Compared kind, const std::string& name) {
    return parts_.try_emplace({kind, name}, ComparedPart{.kind = kind, .name = name}).first->second;
  }

  void equal(ComparedPart& part, std::uint64_t iteration, bool counts) {
    part.iterations += counts;
    equal_[{part.kind, part.name}].push_back(iteration);
  }
  void differs(ComparedPart& part, RunDifference found, bool counts) const {
    part.iterations += counts;
    const auto place = std::ranges::lower_bound(part.different, found.iteration);
    if (place == part.different.end() || *place != found.iteration) part.different.insert(place, found.iteration);
    if (!part.first || found.iteration < part.first->iteration) part.first = std::move(found);
  }

  void numbers(Compared kind, const std::string& name, const RunDifference& where, const ordered_json& a,
               const ordered_json& b) {
    ComparedPart& compared = part(kind, name);
    if (a == b) return equal(compared, where.iteration, true);
    RunDifference found = where;
    found.a = a.dump();
    found.b = b.dump();
    differs(compared, std::move(found), true);
    compared.greatest = std::max(compared.greatest, relative_difference(a, b));
  }

  // Compares members and reports the first that differs. An optimizer without state has none.
  void members(Compared kind, const std::string& name, const RunDifference& where, const ordered_json& a,
               const ordered_json& b, bool counts) {
    if (a.empty() && b.empty()) return;
    ComparedPart& compared = part(kind, name);
    if (a == b) return equal(compared, where.iteration, counts);
    for (auto& member : member_names(a, b)) {
      RunDifference found = where;
      found.a = text_or_none(a, member);
      found.b = text_or_none(b, member);
      if (found.a == found.b) continue;
      found.name = member;
      return differs(compared, std::move(found), counts);
    }
    equal(compared, where.iteration, counts);  // only their order differs
  }

  void rows(const RunDifference& where, const ordered_json& a, const ordered_json& b) {
    const ordered_json &ids_a = a.at("ids"), &ids_b = b.at("ids");
    const auto at_row = [&](std::size_t row, std::string of_a, std::string of_b) {
      RunDifference found = where;
      found.row = row;
      found.id_a = id_in(ids_a, row);
      found.id_b = id_in(ids_b, row);
      found.a = std::move(of_a);
      found.b = std::move(of_b);
      return found;
    };
    const std::size_t most = std::max(ids_a.size(), ids_b.size());
    ComparedPart& ids = part(Compared::ids, "ids");
    std::size_t row = 0;
    while (row < most && id_in(ids_a, row) == id_in(ids_b, row)) ++row;
    if (row == most)
      equal(ids, where.iteration, true);
    else
      differs(ids, at_row(row, id_text(id_in(ids_a, row)), id_text(id_in(ids_b, row))), true);

    for (auto& name : member_names(a.at("rows"), b.at("rows"))) {
      ComparedPart& field = part(Compared::field, name);
      const std::string one = a.at("rows").value(name, ""), other = b.at("rows").value(name, "");
      if (one == other) {
        equal(field, where.iteration, true);
        continue;
      }
      std::size_t first = 0;
      while (hash_in_row(one, first) == hash_in_row(other, first)) ++first;
      differs(field, at_row(first, hash_in_row(one, first), hash_in_row(other, first)), true);
    }
  }

  void lines(const ordered_json& a, const ordered_json& b) {
    const RunDifference where{.iteration = a.at("iter"), .file = hash_journal_name};
    rows(where, a, b);
    numbers(Compared::loss, "loss", where, a.value("loss", ordered_json()), b.value("loss", ordered_json()));
    numbers(Compared::grad_norm, "gradient norm", where, a.value("grad_norm", ordered_json()),
            b.value("grad_norm", ordered_json()));
    members(Compared::model, "parameters", where, a.at("model"), b.at("model"), true);
    members(Compared::optimizer, "optimizer", where, a.at("optimizer"), b.at("optimizer"), true);
  }

  // Returns whether some line had all parts that lines may have.
  bool knows_lines() const { return parts_.contains({Compared::optimizer, "optimizer"}); }
  // Records that all parts are equal in this iteration.
  void same_line(std::uint64_t iteration) {
    for (auto& [key, part] : parts_) equal(part, iteration, true);
  }

  std::vector<ComparedPart> take_parts() {
    std::vector<ComparedPart> all;
    for (auto& [key, part] : parts_) {
      for (const auto iteration : equal_[key])
        if (!part.first || iteration < part.first->iteration) part.equal_until = std::max(part.equal_until, iteration);
      all.push_back(std::move(part));
    }
    return all;
  }

 private:
  using Key = std::pair<Compared, std::string>;
  std::map<Key, ComparedPart> parts_;
  std::map<Key, std::vector<std::uint64_t>> equal_;  // iterations of each file: a later file may differ earlier
};

// Compares the journals. Lines of the same text are equal: once a line has shown the parts, they need not be parsed.
void compare_journals(HashJournalReader& a, HashJournalReader& b, RunComparing& comparing, RunComparison& result,
                      std::set<std::uint64_t>& iterations) {
  while (a && b) {
    result.last_a = std::max(result.last_a, a.iteration());
    result.last_b = std::max(result.last_b, b.iteration());
    if (a.iteration() != b.iteration()) {
      (a.iteration() < b.iteration() ? a : b).next();
      continue;
    }
    if (a.text() == b.text() && comparing.knows_lines()) {
      comparing.same_line(a.iteration());
    } else {
      const auto one = a.line(), other = b.line();
      comparing.lines(one, other);
      result.ranks_a = one.value("ranks", 0);
      result.ranks_b = other.value("ranks", 0);
    }
    iterations.insert(a.iteration());
    a.next();
    b.next();
  }
  for (; a; a.next()) result.last_a = a.iteration();
  for (; b; b.next()) result.last_b = b.iteration();
}

// Compares train lines. Iterations that the journals have are compared there.
void compare_metrics(const RecordedMetrics& a, const RecordedMetrics& b, const std::set<std::uint64_t>& journaled,
                     RunComparing& comparing, std::set<std::uint64_t>& iterations) {
  for (auto& [iteration, step] : a.train) {
    const auto found = b.train.find(iteration);
    if (found == b.train.end() || journaled.contains(iteration)) continue;
    const RunDifference where{.iteration = iteration, .file = "metrics.jsonl"};
    comparing.numbers(Compared::loss, "loss", where, step.loss, found->second.loss);
    comparing.numbers(Compared::grad_norm, "gradient norm", where, step.grad_norm, found->second.grad_norm);
    iterations.insert(iteration);
  }
  for (auto& [iteration, line] : a.val) {
    const auto found = b.val.find(iteration);
    if (found == b.val.end()) continue;
    comparing.members(Compared::validation, "validation", {.iteration = iteration, .file = "metrics.jsonl"}, line,
                      found->second, true);
    iterations.insert(iteration);
  }
}

// Compares the hashes of all ids and of the parameters at the runs' ends. `snapshots`: those that both have.
void compare_ends(const RecordedMetrics& a, const RecordedMetrics& b, const std::set<std::uint64_t>& journaled,
                  const std::set<std::uint64_t>& snapshots, RunComparing& comparing,
                  std::set<std::uint64_t>& iterations) {
  if (!a.end || !b.end || a.end->at("iter") != b.end->at("iter")) return;
  const std::uint64_t iteration = a.end->at("iter");
  const auto compare = [&](Compared kind, const std::string& part, const std::string& key, bool counts) {
    JsonObject one{{key, text_or_none(*a.end, key)}}, other{{key, text_or_none(*b.end, key)}};
    comparing.members(kind, part, {.iteration = iteration, .file = "metrics.jsonl"}, one, other, counts);
  };
  const bool is_new = !journaled.contains(iteration);
  compare(Compared::ids, "ids", "order_xxh64", is_new);
  compare(Compared::model, "parameters", "params_xxh64", is_new && !snapshots.contains(iteration));
  iterations.insert(iteration);
}

// Compares snapshots, and returns the iterations of those that both have.
std::set<std::uint64_t> compare_snapshots(const RecordedSnapshots& a, const RecordedSnapshots& b,
                                          const std::set<std::uint64_t>& journaled, RunComparing& comparing) {
  std::set<std::uint64_t> common;
  for (auto& [iteration, one] : a.all) {
    const auto other = b.all.find(iteration);
    if (other == b.all.end()) continue;
    const RunDifference where{.iteration = iteration, .file = "snapshots/" + one.path.filename().string()};
    const bool counts = !journaled.contains(iteration);
    comparing.members(Compared::model, "parameters", where, one.model, other->second.model, counts);
    if (!one.optimizer.empty() && !other->second.optimizer.empty())  // snapshot.save may have left them out
      comparing.members(Compared::optimizer, "optimizer", where, one.optimizer, other->second.optimizer, counts);
    common.insert(iteration);
  }
  return common;
}

}  // namespace

const ComparedPart* RunComparison::first() const {
  const ComparedPart* earliest = nullptr;
  for (auto& part : parts)
    if (part.first && (!earliest || part.first->iteration < earliest->first->iteration)) earliest = &part;
  for (auto& part : parts)
    if (part.first && part.kind < earliest->kind && part.equal_until < earliest->first->iteration) return &part;
  return earliest;
}

RunComparison compare_runs(const fs::path& a, const fs::path& b) {
  require_run(a);
  require_run(b);
  RunComparison result;
  RunComparing comparing;
  std::set<std::uint64_t> iterations;
  HashJournalReader journal_a(a / hash_journal_name), journal_b(b / hash_journal_name);
  result.journal_a = static_cast<bool>(journal_a);
  result.journal_b = static_cast<bool>(journal_b);
  compare_journals(journal_a, journal_b, comparing, result, iterations);
  const std::set<std::uint64_t> journaled = iterations;
  const RecordedMetrics metrics_a = read_metrics(a), metrics_b = read_metrics(b);
  compare_metrics(metrics_a, metrics_b, journaled, comparing, iterations);
  const RecordedSnapshots snapshots_a = read_snapshots(a), snapshots_b = read_snapshots(b);
  const auto at_snapshots = compare_snapshots(snapshots_a, snapshots_b, journaled, comparing);
  iterations.insert(at_snapshots.begin(), at_snapshots.end());
  compare_ends(metrics_a, metrics_b, journaled, at_snapshots, comparing, iterations);
  result.last_a = std::max(result.last_a, metrics_a.last);
  result.last_b = std::max(result.last_b, metrics_b.last);
  if (result.ranks_a == 0) result.ranks_a = snapshots_a.ranks;
  if (result.ranks_b == 0) result.ranks_b = snapshots_b.ranks;
  if (iterations.empty())
    throw UserError(ExitCode::data,
                    concat("cannot compare ", a.string(), " and ", b.string(),
                           ": they have no iteration in common in verify.jsonl, metrics.jsonl or snapshots/"),
                    "train both with --set verify.every=1");
  result.parts = comparing.take_parts();
  result.iterations = iterations.size();
  result.begin = *iterations.begin();
  result.end = *iterations.rbegin();
  return result;
}

}  // namespace flowtrain
