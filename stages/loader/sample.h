#pragma once
// The read stage gets the bytes of rows. The sample stage runs the sampler on rows, in place, and replaces bad samples.

#include <cstdint>
#include <span>
#include <string>

#include "sampling/core/error.h"
#include "sampling/sampler.h"
#include "stages/loader/shape_plan.h"
#include "stages/loader/slab.h"

namespace flowtrain {

/// Reads every pending row. A record that cannot be read leaves its row `failed` with the reason; other errors throw.
/// It may block, so it never runs on TBB's threads.
void read_rows(const Dataset& dataset, std::span<RowWork> rows);

/// Runs a sampler on rows; many threads call it at once for different chunks.
class SampleStage {
 public:
  /// `plan`: gives the rows their extents; may be null.
  SampleStage(const Dataset& dataset, const Sampler& sampler, std::uint64_t seed, const ShapePlan* plan = nullptr,
              Purpose purpose = Purpose::sample)
      : dataset_(dataset), sampler_(sampler), seed_(seed), plan_(plan), purpose_(purpose) {}

  /// Works on the chunk's rows that were read. Returns true if all rows are done; false if some got another record in
  /// place of a bad one and must be read (again). The substitute is drawn from (seed, position, attempt), so it is the
  /// same on every run and for every number of workers; it comes from the same source, and by its lengths it fits into
  /// the batch, so it is not cut. Throws UserError(data) if a row found no good record in 16 attempts, or none fits.
  bool operator()(Slab& slab, std::uint32_t chunk) const;

 private:
  std::string reason_of(const Record& record, std::size_t axes, const SampleError& error) const;
  bool sample_block(std::span<RowWork> rows, Row first) const;
  bool has_room(const Slab& slab, const RowWork& row, std::uint64_t id) const;
  std::uint64_t draw_substitute(const Slab& slab, const RowWork& row) const;
  void replace(Slab& slab, RowWork& row) const;

  const Dataset& dataset_;
  const Sampler& sampler_;
  std::uint64_t seed_;
  const ShapePlan* plan_;
  Purpose purpose_;
};

}  // namespace flowtrain
