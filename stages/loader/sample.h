#pragma once
// The read stage gets the bytes of rows. The sample stage runs the sampler on rows, in place, and replaces bad samples.

#include <cstdint>
#include <span>
#include <string>

#include "sampling/core/error.h"
#include "sampling/sampler.h"
#include "stages/loader/slab.h"

namespace flowtrain {

/// Reads every pending row. A record that cannot be read leaves its row `failed` with the reason; other errors throw.
/// It may block, so it never runs on TBB's threads.
void read_rows(const Dataset& dataset, std::span<RowWork> rows);

/// Runs a sampler on rows; many threads call it at once for different chunks.
class SampleStage {
 public:
  SampleStage(const Dataset& dataset, const Sampler& sampler, std::uint64_t seed, Purpose purpose = Purpose::sample)
      : dataset_(dataset), sampler_(sampler), seed_(seed), purpose_(purpose) {}

  /// Works on the chunk's rows that were read. Returns true if all rows are done; false if some got another record in
  /// place of a bad one and must be read (again). The substitute is drawn from (seed, position, attempt), so it is the
  /// same on every run and for every number of workers; it comes from the same source. Throws UserError(data) if a row
  /// found no good record in 16 attempts.
  bool operator()(Slab& slab, std::uint32_t chunk) const;

 private:
  std::string reason_of(const Record& record, std::size_t axes, const SampleError& error) const;
  bool sample_block(std::span<RowWork> rows, Row first) const;
  void replace(Slab& slab, RowWork& row) const;

  const Dataset& dataset_;
  const Sampler& sampler_;
  std::uint64_t seed_;
  Purpose purpose_;
};

}  // namespace flowtrain
