#include "stages/loader/sample.h"

#include <array>
#include <vector>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/planned_row.h"
#include "sampling/prefetch.h"
#include "stages/core/error_context.h"
#include "stages/flight/flight.h"

namespace flowtrain {

namespace {
constexpr int max_fields = 32;
constexpr int max_attempts = 16;

// A resident sample is read at once and has no file whose name would help.
void mark_sample(FlightSample& flight, const Dataset& dataset, std::uint64_t id) {
  if (flight) flight.at(id, dataset.resident() ? "" : dataset.describe(id));
}

}  // namespace

void read_rows(const Dataset& dataset, std::span<RowWork> rows) {
  FlightSample flight;
  for (auto& row : rows) {
    if (row.state != RowWork::State::pending) continue;
    mark_sample(flight, dataset, row.id);
    try {
      row.record = dataset.read(row.id, row.buffer);
      row.state = RowWork::State::read;
    } catch (const SampleError& error) {
      row.stage = "read";
      row.reason = error.what();
      row.state = RowWork::State::failed;
    } catch (...) {
      add_error_context("read", dataset.describe(row.id));
    }
  }
}

bool SampleStage::operator()(Slab& slab, std::uint32_t chunk) const {
  const std::size_t fields = slab.layout().fields().size();
  if (fields > max_fields) throw InternalError("a row has more than 32 fields");
  std::array<std::byte*, max_fields> pointers;
  const bool packed = slab.layout().is_packed();
  const auto row_of = [&](const RowWork& row, std::span<const std::int64_t> extents) {
    slab.row_pointers(row, {pointers.data(), fields});
    return Row({pointers.data(), fields}, extents, row.place.segment);
  };

  const auto rows = slab.chunk(chunk);
  if (sampler_.takes_blocks() && !packed && sample_block(rows, row_of(rows.front(), slab.extents()))) return true;

  bool complete = true;
  FlightSample flight;
  for (auto& row : rows) {
    if (const auto* next = &row + rows_ahead; next < rows.data() + rows.size()) prefetch(next->record);
    if (row.state == RowWork::State::read) {
      mark_sample(flight, dataset_, row.id);
      const std::int64_t extent = row.place.extent;
      Stream random(seed_, purpose_, row.position);
      const PlannedRow planned(plan_ && plan_->has_lengths() && (row.replaced == 0 || has_room(slab, row, row.id)));
      try {
        sampler_.sample(row.record, random, row_of(row, packed ? std::span(&extent, 1) : slab.extents()));
        row.state = RowWork::State::done;
      } catch (const SampleError& error) {
        row.stage = "sample";
        row.reason = !packed ? reason_of(row.record, slab.extents().size(), error) : error.what();
        row.state = RowWork::State::failed;
      } catch (...) {
        add_error_context("sample", dataset_.describe(row.id));
      }
    }
    if (row.state == RowWork::State::failed) replace(slab, row);
    complete &= row.state == RowWork::State::done;
  }
  return complete;
}

// A record that cannot be measured had no length of its own in the plan, so its row may not fit its batch: the reason
// is what measuring says.
std::string SampleStage::reason_of(const Record& record, std::size_t axes, const SampleError& error) const {
  std::vector<std::int64_t> extents(axes);
  try {
    if (axes > 0) sampler_.measure(record, extents);
  } catch (const SampleError& unmeasured) {
    return unmeasured.what();
  }
  return error.what();
}

// Returns false, with no row done, if a row was not read or is bad; the rows one by one then show which.
bool SampleStage::sample_block(std::span<RowWork> rows, Row first) const {
  thread_local std::vector<const Record*> records;
  records.clear();
  for (auto& row : rows) {
    if (row.state != RowWork::State::read) return false;
    records.push_back(&row.record);
  }
  try {
    sampler_.sample_rows(records, first);
  } catch (...) {
    return false;
  }
  for (auto& row : rows) row.state = RowWork::State::done;
  return true;
}

/// Returns whether the record is not longer than the row that it is to fill.
bool SampleStage::has_room(const Slab& slab, const RowWork& row, std::uint64_t id) const {
  if (!plan_ || !plan_->has_lengths()) return true;
  if (plan_->packed) return plan_->lengths.axis(plan_->axis)[id] <= row.place.extent;
  for (std::size_t axis = 0; axis < plan_->lengths.axes(); ++axis)
    if (!plan_->is_sized(axis) && plan_->lengths.axis(axis)[id] > slab.extents()[axis]) return false;
  return true;
}

/// Draws a record of the row's source, and takes the first one from there on that has room. The only record of a source
/// is taken as it is: it is tried again, or it stands for inputs of predictions that are damaged, and may be cut.
std::uint64_t SampleStage::draw_substitute(const Slab& slab, const RowWork& row) const {
  const auto from = dataset_.source_of(row.id);
  if (from.size == 1) return from.first;
  Stream random(seed_, Purpose::substitute, row.position * max_attempts + row.replaced - 1);
  const std::uint64_t drawn = random.below(from.size);
  for (std::uint64_t i = 0; i < from.size; ++i) {
    const std::uint64_t id = from.first + (drawn + i) % from.size;
    if (id != row.id && has_room(slab, row, id)) return id;
  }
  throw UserError(ExitCode::data,
                  concat(dataset_.describe(row.id), ": ", row.stage, ": ", row.reason,
                         ", and no other record is short enough for its place in the batch"),
                  "remove the record");
}

void SampleStage::replace(Slab& slab, RowWork& row) const {
  if (++row.replaced > max_attempts)
    throw UserError(ExitCode::data,
                    "no usable sample for position " + std::to_string(row.position) + " after " +
                        std::to_string(max_attempts) + " attempts; the last: " + dataset_.describe(row.id) + ": " +
                        row.stage + ": " + row.reason,
                    "check the data set; `flowtrain bench CONFIG --stage read` reads it alone");
  const std::uint64_t substitute = draw_substitute(slab, row);
  slab.add_bad({slab.epoch(), row.position, row.id, substitute, row.stage, std::move(row.reason)});
  row.id = substitute;
  row.state = RowWork::State::pending;
}

}  // namespace flowtrain
