#include "pipeline/engine/session/memory_check.h"

#include <algorithm>
#include <string>

#include "pipeline/base/telemetry/format.h"
#include "sampling/core/settings.h"
#include "sampling/core/text.h"
#include "stages/loader/finished_sampler.h"

namespace flowtrain {

namespace {

/// The batches of one loader, all of which are filled in the end.
struct Prepared {
  std::uint64_t batches = 0, rows = 0, row_bytes = 0, row_bytes_as_floats = 0;

  std::uint64_t bytes() const { return batches * rows * row_bytes; }
};

Prepared prepared(const DataParts& data) {
  const auto rows = data.slice.most(data.batch);
  Prepared all{Loader::slabs(data.prefetch), rows, sizeof(RowWork)};
  for (auto& field : data.sampler->fields()) {
    all.row_bytes += field.row_bytes();
    if (is_picture(field)) all.row_bytes_as_floats += field.row_bytes() * sizeof(float);
  }
  if (data.plan) {  // the largest batch has either many rows or long ones, and each group has other fields
    const SlabLayout layout = slab_layout(data);
    all.row_bytes = (layout.bytes() + layout.records() * sizeof(RowWork)) / layout.rows();
  }
  return all;
}

std::string described(const Prepared& loader, const std::string& purpose, const std::string& keys) {
  return concat(loader.batches, " batches of ", format_count(loader.rows), " rows for ", purpose, " (", keys, "), ",
                format_bytes(loader.row_bytes), " a row");
}

}  // namespace

void check_memory(const MemoryNeed& need, std::uint64_t free_bytes) {
  std::uint64_t bytes = 0, as_floats = 0;
  std::vector<std::string> parts;
  bool copies = false;  // The batches are copied to a device.
  const auto add = [&](const DataParts& data, const std::string& purpose, const std::string& keys) {
    const Prepared loader = prepared(data);
    bytes += loader.bytes();
    as_floats = std::max(as_floats, loader.rows * loader.row_bytes_as_floats);
    copies = copies || data.device->copies();
    parts.push_back(described(loader, purpose, keys));
    return loader.bytes();
  };
  const std::uint64_t training = need.train ? add(*need.train, "training", "loader.prefetch + 2") : 0;
  const bool own = *need.config.val().batch > 0;
  for (auto* data : need.validation) add(*data, "validation", own ? "val.batch" : "loader.batch");
  if (copies || !need.computes) as_floats = 0;
  bytes += as_floats;
  // Page-locked memory is allocated at once, so other processes may have theirs already.
  const std::uint64_t free_here = free_bytes / (copies ? 1 : need.processes_here);
  if (bytes <= free_here) return;
  const bool by_validation = own && bytes - training > training;
  const std::string of_several =
      need.processes_here > 1 && !copies ? concat(" for each of ", need.processes_here, " processes here") : "";
  const auto error = [&](const auto& key) {
    return key.error(concat("batches would take ", format_bytes(bytes), " of memory, and ", format_bytes(free_here),
                            " are free", of_several, ": ", join(parts, "; "),
                            as_floats > 0 ? concat("; and one in work as floats, ", format_bytes(as_floats)) : ""),
                     ExitCode::usage,
                     concat("make ", by_validation ? "val.batch" : "loader.batch or loader.prefetch",
                            " smaller; loader.batch = \"auto\" finds the largest batch that fits"));
  };
  throw by_validation ? error(need.config.val().batch) : error(need.config.loader().batch);
}

}  // namespace flowtrain
