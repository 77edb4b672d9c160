#include "sampling/datasets/entries.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/support/settings_helper.h"

// The first byte chooses where the names end and the records begin, as that many lines.
FUZZ_TARGET(cifar) {
  if (input.empty()) return;
  const auto names_bytes = std::min<std::size_t>(std::to_integer<std::size_t>(input[0]), input.size() - 1);
  flowtrain::fuzz::as_file(input.subspan(1, names_bytes), "batches.meta.txt");
  const auto file = flowtrain::fuzz::as_file(input.subspan(1 + names_bytes), "test_batch.bin");
  const auto entry = flowtrain::cifar_entry();
  const auto settings = flowtrain::settings_for(entry.keys, {{"path", file.parent_path().string()}});
  const auto dataset = entry.make(settings, {.training = false});
  flowtrain::ReadBuffer buffer;
  for (std::uint64_t id = 0; id < dataset->size(); ++id) {
    const auto record = dataset->read(id, buffer);
    flowtrain::fuzz::require(record.label >= 0 && record.label < 10, "a label is that of a class");
  }
}
