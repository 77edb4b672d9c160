#pragma once
// Tells transforms whether the length of a row's record was measured before its batch was planned.

namespace flowtrain {

/// Says, during its lifetime, whether the extents of the rows that this thread makes were chosen by the lengths of
/// their records. Rows that no plan measured have the greatest extents, and what is longer is cut.
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
