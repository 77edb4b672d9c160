#include "sampling/datasets/entries.h"
#include "tests/fuzz/support/data_set_target.h"
#include "tests/support/settings_helper.h"

// Reads a table by libflowtrain_parquet.so, with and without the columns of classes. A build without pyarrow has no
// such library, and refuses each input.
FUZZ_TARGET(parquet) {
  using flowtrain::UserError;
  const auto path = flowtrain::fuzz::as_file(input, "a.parquet").string();
  const auto entry = flowtrain::manifest_entry();
  const auto read = [&](const std::string& label) {
    read_all(
        *entry.make(flowtrain::settings_for(entry.keys, {{"path", path}, {"label", label}, {"labels", label}}), {}));
  };
  try {
    read("auto");
  } catch (const UserError&) {
  }
  read("");
}
