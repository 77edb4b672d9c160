#include "stages/bad_samples.h"

#include <algorithm>

#include "sampling/core/error.h"

namespace flowtrain {

std::string BadSamples::Entry::text() const {
  return (split == "train" ? "bad sample " : "bad sample of " + split + " ") + std::to_string(sample.id) + " (" + name +
         ") at iteration " + std::to_string(iteration) + ": " + sample.stage + ": " + sample.reason;
}

void BadSamples::account(std::vector<BadSample> found, std::uint64_t iteration) {
  // Chunks enter theirs as they come; a position's own attempts are in order already.
  std::stable_sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.position < b.position; });
  for (auto& bad : found) {
    if (!ids_.insert(bad.id).second) continue;
    const bool tolerated = ids_.size() <= policy_.budget;
    const Entry entry{policy_.split, iteration, bad, dataset_.describe(bad.id), tolerated};
    report_(entry);
    if (!tolerated) stop(entry);
  }
}

void BadSamples::stop(const Entry& last) const {
  const std::string listed = policy_.file.empty() ? "" : "; all are listed in " + policy_.file;
  if (policy_.budget == 0)
    throw UserError(ExitCode::data, last.text(), "mend or remove it, or let a few be replaced: data.bad = \"skip\"");
  const std::string key = policy_.split == "train" ? "data.max_bad" : "data." + policy_.split + ".max_bad";
  constexpr std::size_t shown = 5;
  std::string names;
  auto id = ids_.begin();
  for (std::size_t i = 0; i < shown && id != ids_.end(); ++i, ++id) names += (i ? ", " : "") + dataset_.describe(*id);
  if (id != ids_.end()) names += ", …";
  throw UserError(
      ExitCode::data,
      last.text() + "; that is more than " + key + " = " + std::to_string(policy_.budget) + " allows; bad are " + names,
      "mend the data set, or raise " + key + listed);
}

}  // namespace flowtrain
