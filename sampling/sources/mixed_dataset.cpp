#include "sampling/sources/mixed_dataset.h"

#include <algorithm>
#include <stdexcept>

#include "sampling/class_names.h"
#include "sampling/core/text.h"
#include "sampling/fingerprint.h"

namespace flowtrain {

std::vector<std::string> agreed_classes(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  if (first.size() != second.size()) throw std::invalid_argument(concat(second.size(), " classes, not ", first.size()));
  if (has_only_numbers(first)) return second;
  if (has_only_numbers(second)) return first;
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first[i] != second[i])
      throw std::invalid_argument(concat("class ", i, " is '", second[i], "', not '", first[i], "'"));
  return first;
}

MixedDataset::MixedDataset(std::vector<Source> sources) : sources_(std::move(sources)) {
  classes_ = sources_.front().dataset->classes();
  for (auto& source : sources_) {
    source.first_id = size_;
    size_ += source.dataset->size();
    classes_ = agreed_classes(classes_, source.dataset->classes());
  }
}

std::size_t source_index(std::span<const Dataset::Source> sources, std::uint64_t id) {
  const auto next = std::ranges::upper_bound(sources, id, {}, &Dataset::Source::first_id);
  return static_cast<std::size_t>(next - sources.begin()) - 1;
}

Record MixedDataset::read(std::uint64_t id, ReadBuffer& buffer) const {
  const Source& from = source(id);
  Record record = from.dataset->read(id - from.first_id, buffer);
  record.id = id;
  return record;
}

std::int64_t MixedDataset::label(std::uint64_t id) const {
  const Source& from = source(id);
  return from.dataset->label(id - from.first_id);
}

bool MixedDataset::has_boxes() const {
  return std::ranges::any_of(sources_, [](auto& source) { return source.dataset->has_boxes(); });
}

std::string MixedDataset::describe(std::uint64_t id) const {
  const Source& from = source(id);
  return concat(from.name, ": ", from.dataset->describe(id - from.first_id));
}

bool MixedDataset::resident() const {
  return std::ranges::all_of(sources_, [](auto& source) { return source.dataset->resident(); });
}

std::uint64_t MixedDataset::fingerprint() const {
  std::uint64_t all = 0;
  for (auto& source : sources_) all = fingerprint_of(source.dataset->fingerprint(), all);
  return all;
}

Dataset::Range MixedDataset::source_of(std::uint64_t id) const {
  const Source& from = source(id);
  return {from.first_id, from.dataset->size()};
}

bool MixedDataset::takes_hints() const {
  return std::ranges::any_of(sources_, [](auto& source) { return source.dataset->takes_hints(); });
}

void MixedDataset::hint(std::uint64_t id) const { source(id).dataset->hint(id - source(id).first_id); }

void MixedDataset::prefetch(std::uint64_t id) const { source(id).dataset->prefetch(id - source(id).first_id); }

void MixedDataset::forget(std::uint64_t id) const { source(id).dataset->forget(id - source(id).first_id); }

std::uint64_t MixedDataset::retries() const {
  std::uint64_t sum = 0;
  for (auto& source : sources_) sum += source.dataset->retries();
  return sum;
}

}  // namespace flowtrain
