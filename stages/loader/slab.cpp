#include "stages/loader/slab.h"

#include <algorithm>

#include "sampling/core/error.h"
#include "sampling/field_text.h"

namespace flowtrain {

namespace {
constexpr std::size_t alignment = 64;
std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }
}  // namespace

bool is_image(const Field& field) {
  return is_image_name(field.name) && field.dtype == DType::u8 && field.shape.size() == 3 &&
         (field.free_axes == 0 || field.sized);
}

PictureShape shape_of(const Field& field) {
  return {static_cast<int>(field.shape[0]), static_cast<int>(field.shape[1]), static_cast<int>(field.shape[2])};
}

SlabLayout::SlabLayout(std::vector<Field> fields, const std::vector<BatchShape>& shapes)
    : fields_(std::move(fields)), offsets_(fields_.size()), row_bytes_(fields_.size()) {
  fixed_ = free_axes_of(fields_) == 0;
  std::vector<std::size_t> offsets(fields_.size()), row_bytes(fields_.size());
  for (auto& shape : shapes) {
    packed_ = packed_ || shape.records > 0;
    rows_ = std::max(rows_, shape.rows);
    records_ = std::max(records_, std::max(shape.rows, shape.records));
    const std::size_t bytes = place(shape, offsets, row_bytes);
    if (bytes < bytes_) continue;
    bytes_ = bytes, offsets_ = offsets, row_bytes_ = row_bytes;
  }
}

std::size_t SlabLayout::place(const BatchShape& shape, std::span<std::size_t> offsets,
                              std::span<std::size_t> row_bytes) const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    offsets[i] = bytes;
    row_bytes[i] = fields_[i].row_bytes(extents_of(fields_, i, shape.extents));
    bytes += aligned(row_bytes[i] * shape.rows_of(fields_[i]));
  }
  return bytes;
}

Slab::Slab(const SlabLayout& layout, Device& device)
    : layout_(layout),
      device_(device),
      offsets_(layout.fields().size()),
      row_bytes_(layout.fields().size()),
      rows_(layout.records()) {
  shape_.extents.reserve(free_axes_of(layout.fields()));
  shape_.rows = layout.rows();
  for (std::size_t i = 0; i < offsets_.size(); ++i) offsets_[i] = layout.offset(i), row_bytes_[i] = layout.row_bytes(i);
  bytes_ = layout.bytes();
  host_ = static_cast<std::byte*>(device.allocate_host(layout.bytes()));
  try {
    device_memory_ = device.copies() ? static_cast<std::byte*>(device.allocate_device(layout.bytes())) : host_;
  } catch (...) {
    device.free_host(host_);
    throw;
  }
}

Slab::~Slab() {
  if (device_.copies()) device_.free_device(device_memory_);
  device_.free_host(host_);
}

void Slab::begin(const Ticket& ticket, std::uint64_t epoch, const BatchShape& shape, std::uint32_t chunks) {
  shape_.rows = shape.rows;
  if (!layout_.is_fixed() || !shape.groups.empty()) {
    shape_.groups.assign(shape.groups.begin(), shape.groups.end());
    shape_.extents.assign(shape.extents.begin(), shape.extents.end());
    bytes_ = layout_.place(shape_, offsets_, row_bytes_);
    if (bytes_ > layout_.bytes()) throw InternalError("a batch is larger than its slab");
  }
  ticket_ = ticket;
  epoch_ = epoch;
  used_ = shape.records > 0 ? shape.records : shape.rows;
  if (used_ > rows_.size()) throw InternalError("a batch has more records than its slab");
  chunks_ = chunks;
  chunks_left_.store(chunks, std::memory_order_relaxed);
  for (auto& row : this->rows()) {
    row.state = RowWork::State::pending;
    row.replaced = 0;
    row.place = {.row = static_cast<std::uint32_t>(&row - rows_.data())};
  }
  MutexLock lock(mutex_);
  error_ = nullptr;
  bad_.clear();
}

std::span<RowWork> Slab::chunk(std::uint32_t index) {
  const std::uint64_t first = std::uint64_t{used_} * index / chunks_,
                      last = std::uint64_t{used_} * (index + 1) / chunks_;
  return std::span(rows_).subspan(first, last - first);
}

void Slab::row_pointers(const RowWork& record, std::span<std::byte*> out) {
  for (std::size_t field = 0; field < out.size(); ++field)
    if (const auto* const place = bytes_of(record, field).data())
      out[field] = host_ + (place - host_);
    else
      out[field] = nullptr;
}

std::span<const std::byte> Slab::bytes_of(const RowWork& record, std::size_t field) const {
  if (layout_.fields()[field].group != record.place.group) return {};
  const std::byte* const row = host_ + offsets_[field] + record.place.row * row_bytes_[field];
  if (!layout_.is_packed()) return {row, row_bytes_[field]};
  const std::size_t step = row_bytes_[field] / static_cast<std::size_t>(layout_.fields()[field].shape[0]);
  return {row + record.place.begin * step, record.place.extent * step};
}

void Slab::fail(const std::exception_ptr& error) {
  MutexLock lock(mutex_);
  if (!error_) error_ = error;
}

void Slab::add_bad(BadSample bad) {
  MutexLock lock(mutex_);
  bad_.push_back(std::move(bad));
}

}  // namespace flowtrain
