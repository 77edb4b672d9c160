#include "sampling/parts/part_collector.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "sampling/core/error.h"
#include "sampling/core/text.h"
#include "sampling/core/utf8.h"
#include "sampling/io/files.h"

namespace flowtrain {
namespace {

constexpr std::size_t elsewhere = static_cast<std::size_t>(-1), alignment = 8;

/// The places of a part's bytes and of its shape in the buffer; `elsewhere`: it is a view already.
struct Place {
  std::size_t bytes, shape;
};

std::vector<Place>& places() {
  thread_local std::vector<Place> all;  // one record at a time is collected
  return all;
}

/// Returns the shape with 0 for each axis that differs between records, or else for the first one.
void append_empty_shape(std::span<const std::int64_t> form, std::vector<std::int64_t>& shapes) {
  const auto begin = shapes.size();
  for (const auto extent : form) shapes.push_back(std::max<std::int64_t>(extent, 0));
  if (form.empty()) shapes.push_back(0);
  if (std::ranges::find(form, -1) == form.end()) shapes[begin] = 0;
}

void check_text(const PartForm& form, std::span<const std::byte> bytes) {
  if (const auto wrong = first_not_utf8({reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
    throw std::runtime_error(concat("the text '", form.name, "' is not UTF-8 at byte ", *wrong));
}

void check_npy(const PartForm& form, const NpyHeader& header) {
  if (record_type(header.type) != form.dtype || header.axes != form.shape.size())
    throw std::runtime_error(concat("the array has ", header.axes, " axes of ", name_of(header.type),
                                    ", but that of the first record has ", form.shape.size(), " of ",
                                    name_of(form.dtype)));
}

}  // namespace

PartCollector::PartCollector(ReadBuffer& buffer) : buffer_(buffer) {
  buffer_.parts.clear();
  buffer_.shapes.clear();
  places().clear();
}

std::span<std::byte> PartCollector::room(std::uint64_t bytes) {
  if (bytes > max_sample_bytes)
    throw std::runtime_error(concat(bytes, " bytes are more than a sample may have (1 GiB)"));
  const auto begin = (used_ + alignment - 1) / alignment * alignment;
  used_ = begin + bytes;
  if (buffer_.bytes.size() < used_) buffer_.bytes.resize(used_);
  return std::span(buffer_.bytes).subspan(begin, bytes);
}

void PartCollector::push(const PartForm& form, std::size_t begin, std::size_t bytes,
                         std::span<const std::int64_t> shape) {
  const auto shape_begin = buffer_.shapes.size();
  buffer_.shapes.insert(buffer_.shapes.end(), shape.begin(), shape.end());
  // The sizes of the views count from here on, and finish() sets where they begin.
  buffer_.parts.push_back({form.name, form.encoding, std::span(buffer_.bytes.data(), bytes), form.dtype,
                           std::span(buffer_.shapes.data(), shape.size())});
  places().push_back({begin, shape_begin});
}

void PartCollector::read_picture(const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes) {
  read_exactly(file, offset, room(size_bytes));
  picture_bytes_ = size_bytes;
}

void PartCollector::add(const PartForm& form, std::span<const std::byte> bytes, std::span<const std::int64_t> shape) {
  buffer_.parts.push_back({form.name, form.encoding, bytes, form.dtype, shape});
  places().push_back({elsewhere, elsewhere});
}

void PartCollector::add_list(const PartForm& form, std::span<const std::byte> bytes) {
  const auto length = static_cast<std::int64_t>(bytes.size() / size_of(form.dtype));
  push(form, elsewhere, 0, {&length, 1});
  buffer_.parts.back().bytes = bytes;
}

void PartCollector::read(const PartForm& form, const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes) {
  // A record would lack a part without bytes.
  if (form.encoding == Encoding::audio && size_bytes == 0) throw std::runtime_error("the file is empty");
  const auto bytes = room(size_bytes);
  const auto begin = used_ - size_bytes;
  read_exactly(file, offset, bytes);
  if (form.encoding == Encoding::text) check_text(form, bytes);
  if (form.encoding != Encoding::array) return push(form, begin, size_bytes, {});
  const NpyHeader header =
      parse_npy(bytes.first(std::min<std::size_t>(bytes.size(), max_npy_header_bytes)), size_bytes);
  check_npy(form, header);
  if (is_stored_as(header.type, form.dtype) && (begin + header.data_offset) % alignment == 0)
    return push(form, begin + header.data_offset, header.data_bytes, header.shape());
  const auto into = room(header.data_bytes / size_of(header.type) * size_of(form.dtype));  // `bytes` may be gone now
  convert_elements(header.type, std::span(buffer_.bytes).subspan(begin + header.data_offset, header.data_bytes), into);
  push(form, used_ - into.size(), into.size(), header.shape());
}

void PartCollector::read_segment(const PartForm& form, const ByteSource& file, std::uint64_t offset,
                                 std::uint64_t size_bytes, double begin, double end) {
  thread_local std::vector<std::byte> segment;  // keeps its memory
  cut_sound(file, offset, size_bytes, begin, end, segment);
  const auto bytes = room(segment.size());
  std::ranges::copy(segment, bytes.begin());
  push(form, used_ - bytes.size(), bytes.size(), {});
}

void PartCollector::read_elements(const PartForm& form, const ByteSource& file, std::uint64_t offset, StoredType type) {
  const auto count = elements_of(form.shape);
  const auto stored = room(count * size_of(type));
  const auto begin = used_ - stored.size();
  read_exactly(file, offset, stored);
  std::size_t part = begin, bytes = stored.size();
  if (!is_stored_as(type, form.dtype)) {
    bytes = count * size_of(form.dtype);
    const auto into = room(bytes);
    convert_elements(type, std::span(buffer_.bytes).subspan(begin, count * size_of(type)), into);
    part = used_ - bytes;
  }
  push(form, part, bytes, form.shape);
}

void PartCollector::lack(const PartForm& form) {
  push(form, elsewhere, 0, {});
  buffer_.parts.back().bytes = {};
  if (form.encoding != Encoding::array) return;
  const auto begin = buffer_.shapes.size();
  append_empty_shape(form.shape, buffer_.shapes);
  buffer_.parts.back().shape = std::span(buffer_.shapes).subspan(begin);
}

void PartCollector::outline_text(const PartForm& form, std::uint64_t size_bytes) {
  const auto length = static_cast<std::int64_t>(size_bytes);
  outline_array(form, {&length, 1});
}

void PartCollector::outline_audio(const PartForm& form, const SoundForm& sound) {
  const std::int64_t shape[]{static_cast<std::int64_t>(sound.frames), sound.channels, sound.rate};
  outline_array(form, shape);
}

void PartCollector::outline_array(const PartForm& form, std::span<const std::int64_t> shape) {
  push(form, elsewhere, 0, shape);
  buffer_.parts.back().bytes = {};
}

void PartCollector::finish(Record& record) {
  for (std::size_t i = 0; i < buffer_.parts.size(); ++i) {
    auto& part = buffer_.parts[i];
    const auto [bytes, shape] = places()[i];
    if (bytes != elsewhere) part.bytes = std::span(buffer_.bytes).subspan(bytes, part.bytes.size());
    if (shape != elsewhere) part.shape = std::span(buffer_.shapes).subspan(shape, part.shape.size());
  }
  if (picture_bytes_ > 0) record.bytes = std::span(buffer_.bytes).first(picture_bytes_);
  record.parts = buffer_.parts;
}

std::uint64_t elements_of(std::span<const std::int64_t> shape) {
  std::uint64_t count = 1;
  for (const auto extent : shape) count *= static_cast<std::uint64_t>(extent);
  return count;
}

PartForm form_of_file(std::string name, std::string_view file) {
  const auto ending = ending_of(file);
  const bool text = ending == "txt" || ending == "json" || ending == "cls";
  const auto encoding = text                                     ? Encoding::text
                        : ending == "npy"                        ? Encoding::array
                        : is_picture(file)                       ? Encoding::image
                        : is_sound(file) || ending == audio_part ? Encoding::audio
                                                                 : Encoding::bytes;
  return {std::move(name), encoding};
}

void complete_array_form(PartForm& form, const ByteSource& file, std::uint64_t offset, std::uint64_t size_bytes) {
  std::vector<std::byte> beginning(std::min<std::uint64_t>(size_bytes, max_npy_header_bytes));
  read_exactly(file, offset, std::span(beginning));
  const auto header = parse_npy(beginning, size_bytes);
  form.dtype = record_type(header.type);
  form.shape.assign(header.axes, -1);
}

}  // namespace flowtrain
