#include "stages/read.h"

#include "sampling/core/error.h"
#include "stages/error_context.h"

namespace flowtrain {

void read_rows(const Dataset& dataset, std::span<RowWork> rows) {
  for (auto& row : rows) {
    if (row.state != RowWork::State::pending) continue;
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

}  // namespace flowtrain
