#include "sampling/datasets/entries.h"
#include "tests/fuzz/support/data_set_target.h"
#include "tests/support/settings_helper.h"

FUZZ_TARGET(npy) {
  const auto path = flowtrain::fuzz::as_file(input, "a.npy").string();
  const auto entry = flowtrain::tensors_entry();
  for (const std::int64_t memory_mb : {0, 1})  // read from the file, and from memory
    read_all(*entry.make(flowtrain::settings_for(entry.keys, {{"path", path}, {"memory_mb", memory_mb}}), {}));
}
