#include "sampling/sources/mixed_dataset.h"

#include <algorithm>
#include <stdexcept>

#include "sampling/class_names.h"
#include "sampling/core/text.h"
#include "sampling/fingerprint.h"

namespace flowtrain {

std::vector<std::string> agreed_classes(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  if (first.size() != second.size()) throw std::invalid_argument(concat(second.size(), " classes, not ", first.size()));
  // Labels that have no names fit any names but numbers, which would be those of other labels.
  const auto fits_labels = [](const auto& names) { return std::ranges::none_of(names, is_number); };
  if (has_only_numbers(first) && (first == second || fits_labels(second))) return second;
  if (has_only_numbers(second) && fits_labels(first)) return first;
  for (std::size_t i = 0; i < first.size(); ++i)
    if (first[i] != second[i])
      throw std::invalid_argument(concat("class ", i, " is '", second[i], "', not '", first[i], "'"));
  return first;
}

namespace {

/// Returns the parts of `forms` that `others` have, too; an extent in which they differ becomes -1.
std::vector<PartForm> common_parts(std::vector<PartForm> forms, const std::vector<PartForm>& others) {
  std::erase_if(forms, [&](PartForm& form) {
    const auto other = std::ranges::find(others, form.name, &PartForm::name);
    const bool fits = other != others.end() && other->encoding == form.encoding && other->dtype == form.dtype &&
                      other->shape.size() == form.shape.size();
    for (std::size_t axis = 0; fits && axis < form.shape.size(); ++axis)
      if (form.shape[axis] != other->shape[axis]) form.shape[axis] = -1;
    return !fits;
  });
  return forms;
}

}  // namespace

MixedDataset::MixedDataset(std::vector<Source> sources, Sources relation)
    : sources_(std::move(sources)), relation_(relation) {
  classes_ = sources_.front().dataset->classes();
  if (relation_ == Sources::alike) forms_ = sources_.front().dataset->parts();
  for (auto& source : sources_) {
    source.first_id = size_;
    size_ += source.dataset->size();
    if (relation_ == Sources::groups) {
      if (classes_.empty()) classes_ = source.dataset->classes();
      continue;
    }
    classes_ = agreed_classes(classes_, source.dataset->classes());
    forms_ = common_parts(std::move(forms_), source.dataset->parts());
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
  choose_parts(record, buffer);
  return record;
}

bool MixedDataset::outline(std::uint64_t id, Record& record, ReadBuffer& buffer) const {
  const Source& from = source(id);
  if (!from.dataset->outline(id - from.first_id, record, buffer)) return false;
  record.id = id;
  choose_parts(record, buffer);
  return true;
}

/// Leaves the parts that all sources have, in the order of forms_.
void MixedDataset::choose_parts(Record& record, ReadBuffer& buffer) const {
  if (relation_ == Sources::groups) return;
  if (std::ranges::equal(record.parts, forms_, {}, &Part::name, &PartForm::name)) return;
  thread_local std::vector<Part> chosen;  // the record's parts may be those of the buffer or of the data set
  chosen.clear();
  for (const auto& form : forms_)
    if (const Part* part = record.part(form.name)) chosen.push_back(*part);
  buffer.parts.swap(chosen);
  record.parts = buffer.parts;
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

std::uint64_t MixedDataset::version() const {
  std::uint64_t all = 0;
  for (auto& source : sources_) all = fingerprint_of(source.dataset->version(), all);
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
