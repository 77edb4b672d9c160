#pragma once
// Tells transforms whether the length of a row's record was measured before its batch was planned.

namespace flowtrain {

/// Says, during its lifetime, whether the extents of the rows that this thread makes were measured with their own
/// records. A record that replaces a damaged one was not measured, so it may be longer than its batch, and is cut.
class PlannedRow {
 public:
  explicit PlannedRow(bool is_measured) { is_measured_ = is_measured; }
  ~PlannedRow() { is_measured_ = false; }
  PlannedRow(const PlannedRow&) = delete;
  PlannedRow& operator=(const PlannedRow&) = delete;

  static bool is_measured() { return is_measured_; }

 private:
  inline static thread_local bool is_measured_ = false;
};

}  // namespace flowtrain
