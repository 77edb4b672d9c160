#include "pipeline/inference/evaluation/test_snapshots.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <set>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

namespace {

namespace fs = std::filesystem;

std::uint64_t iteration_in(const std::string& requested, std::string_view text) {
  std::uint64_t iteration = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), iteration);
  if (error != std::errc() || end != text.data() + text.size())
    throw UserError(ExitCode::usage,
                    concat("--iter ", requested, ": expected an iteration, or two with .. between them"),
                    "--iter 500, or --iter 100..500");
  return iteration;
}

// Returns the snapshots of iterations `first` to `last`, by iteration.
std::vector<ChosenSnapshot> those_between(const fs::path& folder, std::uint64_t first, std::uint64_t last,
                                          const std::string& requested) {
  std::vector<ChosenSnapshot> chosen;
  for (auto& snapshot : list_snapshots(folder))
    if (snapshot.complete && snapshot.iteration >= first && snapshot.iteration <= last)
      chosen.push_back({snapshot.path});
  std::ranges::reverse(chosen);  // the list is newest first
  if (chosen.empty())
    throw UserError(ExitCode::snapshot, concat(requested, ": this snapshot does not exist in ", folder.string()),
                    "`flowtrain snapshot ls` lists the snapshots");
  return chosen;
}

}  // namespace

std::vector<ChosenSnapshot> test_snapshots(const fs::path& folder, const SnapshotSelection& selection) {
  std::vector<ChosenSnapshot> all;
  for (auto& requested : selection.iterations) {
    const auto dots = requested.find("..");
    if (dots == requested.npos) {
      all.push_back(choose_snapshot(folder, {.iteration = iteration_in(requested, requested)}));
      continue;
    }
    const std::string_view text = requested;
    for (auto& each : those_between(folder, iteration_in(requested, text.substr(0, dots)),
                                    iteration_in(requested, text.substr(dots + 2)), "--iter " + requested))
      all.push_back(each);
  }
  for (auto& requested : selection.snapshots) {
    if (requested != "all") {
      all.push_back(choose_snapshot(folder, {.snapshot = requested}));
      continue;
    }
    for (auto& each : those_between(folder, 0, std::numeric_limits<std::uint64_t>::max(), "--snapshot all"))
      all.push_back(each);
  }
  if (selection.iterations.empty() && selection.snapshots.empty()) all.push_back(choose_snapshot(folder, {}));
  std::set<fs::path> taken;
  std::erase_if(all, [&](auto& each) { return !taken.insert(fs::weakly_canonical(each.path)).second; });
  return all;
}

}  // namespace flowtrain
