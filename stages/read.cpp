#include "stages/read.h"

namespace flowtrain {

void read_rows(const Dataset& dataset, std::span<RowWork> rows) {
  for (auto& row : rows) {
    if (row.state != RowWork::State::pending) continue;
    try {
      row.record = dataset.read(row.id, row.buffer);
      row.state = RowWork::State::read;
    } catch (const SampleError& error) {
      row.reason = std::string("read: ") + error.what();
      row.state = RowWork::State::failed;
    } catch (const UserError&) {
      throw;
    } catch (const std::exception& error) {
      throw InternalError("stage read, " + dataset.describe(row.id) + ": " + error.what());
    }
  }
}

}  // namespace flowtrain
