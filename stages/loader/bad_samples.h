#pragma once
// The log of bad samples: counts them in step order, and stops the run when there are too many.

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "stages/loader/slab.h"

namespace flowtrain {

/// The bad records of one split. One thread. They are counted where batches are consumed, and not where they are
/// prepared, so that the run stops at the same iteration whatever the workers and the prefetch depth are.
class BadSamples {
 public:
  struct Policy {
    std::string split = "train";  ///< "train" or "val"
    std::uint64_t budget = 0;     ///< distinct records that may be bad; 0 stops at the first
    std::string file = {};        ///< file that lists all of them; empty: no file
  };
  /// The report of a bad record, made once.
  struct Entry {
    const std::string& split;
    std::uint64_t iteration;  ///< iteration of training
    const BadSample& sample;
    std::string name;  ///< Dataset::describe
    bool tolerated;    ///< false: it is beyond the budget and ends the run

    /// Returns "bad sample 17 (a/17.jpg) at iteration 3: read: …".
    std::string text() const;
  };
  using Report = std::function<void(const Entry&)>;

  BadSamples(const Dataset& dataset, Policy policy, Report report)
      : dataset_(dataset), policy_(std::move(policy)), report_(std::move(report)) {}

  /// Adds bad samples in order of positions, and reports each new record. Throws UserError(data) beyond the budget.
  void account(std::vector<BadSample> found, std::uint64_t iteration);
  /// Returns the records found bad so far.
  const std::set<std::uint64_t>& ids() const { return ids_; }
  /// Continues from the list of a snapshot.
  void restore(std::set<std::uint64_t> ids) { ids_ = std::move(ids); }

 private:
  [[noreturn]] void stop(const Entry& last) const;

  const Dataset& dataset_;
  Policy policy_;
  Report report_;
  std::set<std::uint64_t> ids_;
};

}  // namespace flowtrain
