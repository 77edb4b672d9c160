#include "sampling/sources/grouped_sampler.h"

#include <algorithm>
#include <utility>

#include "sampling/sources/mixed_dataset.h"

namespace flowtrain {

GroupedSampler::GroupedSampler(std::vector<std::unique_ptr<Sampler>> samplers, std::span<const Dataset::Source> sources)
    : sources_(sources) {
  for (auto& sampler : samplers) {
    auto own = sampler->fields();
    const std::size_t group = groups_.size();
    groups_.push_back({std::move(sampler), fields_.size(), own.size(), free_axes_of(fields_), free_axes_of(own)});
    for (Field& field : own) {
      field.name = sources_[group].name + "." + field.name;
      field.group = static_cast<std::uint32_t>(group);
      fields_.push_back(std::move(field));
    }
  }
}

const GroupedSampler::Group& GroupedSampler::group_of(const Record& record) const {
  return groups_[source_index(sources_, record.id)];
}

void GroupedSampler::measure(const Record& record, std::span<std::int64_t> extents) const {
  const Group& group = group_of(record);
  std::ranges::fill(extents, 0);
  group.sampler->measure(record, extents.subspan(group.first_axis, group.axes));
}

void GroupedSampler::sample(const Record& record, Stream& random, Row row) const {
  const Group& group = group_of(record);
  const auto extents = row.extents().empty() ? row.extents() : row.extents().subspan(group.first_axis, group.axes);
  group.sampler->sample(record, random, Row(row.fields().subspan(group.first_field, group.fields), extents));
}

}  // namespace flowtrain
