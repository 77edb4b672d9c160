#include "sampling/datasets/entries.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/support/settings_helper.h"

FUZZ_TARGET(webdataset) {
  const auto path = flowtrain::fuzz::as_file(input, "shard.tar");
  const auto entry = flowtrain::webdataset_entry();
  const auto dataset = entry.make(flowtrain::settings_for(entry.keys, {{"path", path.string()}}), {});
  flowtrain::ReadBuffer buffer;
  for (std::uint64_t id = 0; id < dataset->size(); ++id) dataset->read(id, buffer);
}
