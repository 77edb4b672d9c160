#include "stages/loader/bad_samples.h"

#include <algorithm>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/core/text.h"

namespace flowtrain {

std::string BadSamples::Entry::text() const {
  return concat("bad sample ", split == "train" ? "" : "of " + split + " ", sample.id, " (", name, ") at iteration ",
                iteration, ": ", sample.stage, ": ", sample.reason);
}

void BadSamples::account(std::vector<BadSample> found, std::uint64_t iteration) {
  // Chunks add their entries in any order; the attempts of one position are in order already.
  std::stable_sort(found.begin(), found.end(), [](auto& a, auto& b) { return a.position < b.position; });
  for (auto& bad : found) {
    const bool is_new = ids_.insert(bad.id).second;
    const bool tolerated = ids_.size() <= policy_.budget;
    if (!is_new && tolerated) continue;
    const Entry entry{policy_.split, iteration, bad, dataset_.describe(bad.id), tolerated};
    if (is_new) report_(entry);
    if (!tolerated) stop(entry);
  }
}

void BadSamples::stop(const Entry& last) const {
  const std::string listed = policy_.file.empty() ? "" : "; all are listed in " + policy_.file;
  if (policy_.budget == 0)
    throw UserError(ExitCode::data, last.text(),
                    "repair or remove it, or allow a few to be replaced: data.bad = \"skip\"");
  const std::string key = policy_.split == "train" ? "data.max_bad" : "data." + policy_.split + ".max_bad";
  constexpr std::size_t shown = 5;
  std::vector<std::uint64_t> first(ids_.begin(), ids_.end());
  first.resize(std::min(shown, ids_.size()));
  std::string names = join(first, ", ", [this](std::uint64_t id) { return dataset_.describe(id); });
  if (ids_.size() > shown) names += ", …";
  throw UserError(ExitCode::data,
                  last.text() + "; that is more than " + key + " = " + std::to_string(policy_.budget) +
                      " allows; the bad samples are " + names,
                  "repair the data set, or raise " + key + listed);
}

}  // namespace flowtrain
