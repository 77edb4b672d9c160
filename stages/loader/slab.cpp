#include "stages/loader/slab.h"

#include <algorithm>

namespace flowtrain {

namespace {
constexpr std::size_t alignment = 64;
std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }
}  // namespace

bool is_image(const Field& field) {
  return field.name == "image" && field.dtype == DType::u8 && field.shape.size() == 3;
}

PictureShape shape_of(const Field& field) {
  return {static_cast<int>(field.shape[0]), static_cast<int>(field.shape[1]), static_cast<int>(field.shape[2])};
}

SlabLayout::SlabLayout(std::vector<Field> fields, std::uint32_t rows) : fields_(std::move(fields)), rows_(rows) {
  for (auto& field : fields_) {
    offsets_.push_back(bytes_);
    row_bytes_.push_back(field.row_bytes());
    bytes_ += aligned(row_bytes_.back() * rows);
  }
}

Slab::Slab(const SlabLayout& layout, Device& device) : layout_(layout), device_(device), rows_(layout.rows()) {
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

void Slab::begin(const Ticket& ticket, std::uint64_t epoch, std::uint32_t rows, std::uint32_t chunks) {
  ticket_ = ticket;
  epoch_ = epoch;
  used_ = rows;
  chunks_ = chunks;
  chunks_left_.store(chunks, std::memory_order_relaxed);
  for (auto& row : this->rows()) {
    row.state = RowWork::State::pending;
    row.replaced = 0;
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

void Slab::row_pointers(std::uint32_t row, std::span<std::byte*> out) {
  for (std::size_t field = 0; field < out.size(); ++field)
    out[field] = host_ + layout_.offset(field) + row * layout_.row_bytes(field);
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
