#include "pipeline/tools/plugin_kit/rows.h"

#include <algorithm>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/fingerprint.h"

namespace flowtrain::plugin_kit {

Rows::Rows(const std::vector<Field>& fields, std::size_t count, std::vector<std::int64_t> extents)
    : extents_(std::move(extents)) {
  for (std::size_t i = 0; i < fields.size(); ++i)
    fields_.push_back(stored_shape(fields[i], extents_of(fields, i, extents_)));
  for (auto& field : fields_) memory_.emplace_back(field.row_bytes() * count);
  for (auto& memory : memory_) starts_.push_back(memory.data());
  fill(std::byte{0});
}

void Rows::fill(std::byte value) {
  for (auto& memory : memory_) memory.fill(value);
}

void Rows::check_guards(const std::string& place) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const auto at = memory_[i].overwritten();
    if (!at) continue;
    throw CheckFailure{concat(place, ": byte ", *at, " of the field '", fields_[i].name, "' was written, which has ",
                              memory_[i].bytes().size(), " bytes"),
                       "write only the declared bytes: the product of the field's shape, times the size of its dtype"};
  }
}

std::optional<std::string> Rows::difference(const Rows& other, std::size_t index) const {
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    const auto theirs = other.bytes(i), ours = bytes(i).subspan(index * theirs.size(), theirs.size());
    const auto at = std::ranges::mismatch(ours, theirs);
    if (at.in1 == ours.end()) continue;
    return concat("field '", fields_[i].name, "', byte ", at.in1 - ours.begin(), ": ", static_cast<int>(*at.in1),
                  ", not ", static_cast<int>(*at.in2));
  }
  return std::nullopt;
}

std::uint64_t Rows::hash() const {
  std::uint64_t hash = 0;
  for (auto& memory : memory_) hash = fingerprint_of(memory.bytes(), hash);
  return hash;
}

std::string Item::name() const { return concat(trial->name, " (position ", position, ")"); }

std::vector<Item> items_of(const Subject& subject) {
  const auto& records = subject.records();
  std::vector<Item> items;
  for (std::uint64_t position = 0; position < 2 * records.size(); ++position)
    items.push_back({&records[position % records.size()], position});
  return items;
}

std::optional<std::string> make_row(const Sampler& sampler, const Record& record, std::uint64_t position,
                                    const Rows& rows) {
  Stream random(/*seed=*/1, Purpose::sample, position);
  try {
    sampler.sample(record, random, rows.first());
    return std::nullopt;
  } catch (const SampleError& error) {
    return error.what();
  }
}

std::optional<std::string> make_row_twice(const Sampler& sampler, const Item& item, const std::string& place,
                                          Rows& rows, Rows& again) {
  constexpr std::byte before{0x5c}, other_before{0xa3};
  rows.fill(before);
  again.fill(other_before);
  for (auto* made : {&rows, &again})
    if (auto refusal = make_row(sampler, item.trial->record, item.position, *made)) return refusal;
  for (std::size_t f = 0; f < rows.fields().size(); ++f) {
    const auto bytes = rows.bytes(f), others = again.bytes(f);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      if (bytes[i] == before && others[i] == other_before)
        throw CheckFailure{concat(place, ": byte ", i, " of the field '", rows.fields()[f].name,
                                  "' was not written, which has ", bytes.size(), " bytes"),
                           "write every byte of each field: the memory holds an earlier row"};
  }
  return std::nullopt;
}

std::optional<std::string> measure_row(const Sampler& sampler, const Record& record,
                                       std::vector<std::int64_t>& extents) {
  const auto bounds = bounds_of(sampler.fields());
  extents.assign(bounds.size(), -1);
  try {
    sampler.measure(record, extents);
  } catch (const SampleError& error) {
    return error.what();
  }
  for (std::size_t axis = 0; axis < bounds.size(); ++axis)
    if (extents[axis] < 0 || extents[axis] > bounds[axis])
      throw CheckFailure{concat("record ", record.id, ": measure() gives the extents ", join(extents),
                                ", but their bounds are ", join(bounds)),
                         "write the extents of all free axes, 0 up to their bounds"};
  return std::nullopt;
}

std::uint64_t hash_of_row(const Sampler& sampler, const Item& item, const Rows& rows) {
  std::vector<std::int64_t> extents;
  auto refusal = measure_row(sampler, item.trial->record, extents);
  if (!refusal) refusal = make_row(sampler, item.trial->record, item.position, rows);
  return refusal ? fingerprint_of(*refusal) : fingerprint_of(std::as_bytes(std::span(extents)), rows.hash());
}

}  // namespace flowtrain::plugin_kit
