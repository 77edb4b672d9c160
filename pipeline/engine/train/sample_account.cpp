#include "pipeline/engine/train/sample_account.h"

#include <span>
#include <utility>

#include "pipeline/base/errors/bad_samples_of_all.h"

namespace flowtrain {

SampleAccount::SampleAccount(Loader& loader, Group& group, BadSamples& bad_samples, SampleState& state)
    : loader_(loader), group_(group), bad_samples_(bad_samples), state_(state) {
  bad_samples_.restore(state.bad_samples);
}

std::size_t SampleAccount::add(const Slab& slab) {
  last_ = slab.ticket();
  bad_.insert(bad_.end(), slab.bad().begin(), slab.bad().end());
  if (!group_.leads()) return 0;  // On each rank, the cost of a step would grow with the number of ranks.
  const auto rows = rows_of_all(slab);
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  return rows.size();
}

// A slab has the rows of this process only.
std::vector<StreamRow> SampleAccount::rows_of_all(const Slab& slab) const {
  if (group_.size() > 1) return loader_.rows(slab.ticket());
  std::vector<StreamRow> rows;
  rows.reserve(slab.rows().size());
  for (auto& row : slab.rows()) rows.push_back({row.position, row.id});
  return rows;
}

void SampleAccount::account(std::uint64_t iteration, const StepFlags& all) {
  std::vector<BadSample> found;
  if (all[Flag::bad_samples] > 0) found = bad_samples_of_all(group_, bad_);
  bad_.clear();
  substitutes_.clear();
  for (auto& bad : found) substitutes_[bad.position] = bad.substitute;
  std::vector<std::uint64_t> ids;
  ids.reserve(rows_.size());
  for (auto& row : rows_) ids.push_back(trained_on(row));
  state_.order.update(std::as_bytes(std::span(ids)));
  state_.count += ids.size();
  rows_.clear();
  bad_samples_.account(std::move(found), iteration);
  if (bad_samples_.ids().size() != state_.bad_samples.size()) state_.bad_samples = bad_samples_.ids();
}

void SampleAccount::discard() {
  rows_.clear();
  bad_.clear();
}

std::vector<std::uint64_t> SampleAccount::last_batch() const {
  std::vector<std::uint64_t> ids;
  for (auto& row : loader_.rows(last_)) ids.push_back(trained_on(row));
  return ids;
}

std::vector<std::uint64_t> SampleAccount::drawn(std::uint64_t iteration) const {
  Ticket then = last_;
  then.iteration = iteration;
  std::vector<std::uint64_t> ids;
  for (auto& row : loader_.rows(then)) ids.push_back(row.id);
  return ids;
}

// A substitute was trained on in place of a bad sample.
std::uint64_t SampleAccount::trained_on(const StreamRow& row) const {
  const auto replaced = substitutes_.find(row.position);
  return replaced == substitutes_.end() ? row.id : replaced->second;
}

}  // namespace flowtrain
