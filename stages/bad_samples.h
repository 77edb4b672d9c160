#pragma once
// The ledger of bad samples: counts them in step order, and stops the run when there are too many.

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "stages/slab.h"

namespace flowtrain {

/// One thread. Counting happens where batches are consumed, not where they are prepared, so that the run stops at the
/// same iteration whatever the workers and the prefetch depth are.
class BadSamples {
 public:
  /// `budget` distinct records may be bad; 0 stops at the first. `report` gets one line for each new one.
  BadSamples(const Dataset& dataset, std::uint64_t budget, std::function<void(const std::string&)> report)
      : dataset_(dataset), budget_(budget), report_(std::move(report)) {}

  /// Enters the slab's bad samples. Throws UserError(data) beyond the budget.
  void account(const Slab& slab);
  /// Records found bad so far.
  const std::set<std::uint64_t>& ids() const { return ids_; }
  /// Goes on from a snapshot's list.
  void restore(std::set<std::uint64_t> ids) { ids_ = std::move(ids); }

 private:
  const Dataset& dataset_;
  std::uint64_t budget_;
  std::function<void(const std::string&)> report_;
  std::set<std::uint64_t> ids_;
};

}  // namespace flowtrain
