// The transform `bytes`: the bytes of a text or file as numbers from 0 to 255, for models of bytes.
#include <algorithm>
#include <cstring>
#include <utility>

#include "sampling/core/text.h"
#include "sampling/samplers/keys.h"
#include "sampling/shown.h"
#include "sampling/transforms/counted_warning.h"
#include "sampling/transforms/entries.h"
#include "sampling/transforms/padded.h"

namespace flowtrain {
namespace {

class BytesTransform final : public Transform {
 public:
  BytesTransform(const Settings& settings, const TransformInput& input)
      : from_(input.from),
        field_{.name = input.name, .dtype = DType::u8, .shape = {settings.integer("max")}},
        cut_(cut_warning(settings, concat("values of more than ", field_.shape[0], " bytes"), "raise it", nullptr)) {
    if (from_.encoding == Encoding::array) throw wrong_part(settings, from_, "a text or a file");
    field_.free_axes = 1;
    field_.fill = static_cast<double>(settings.integer("fill"));
    if (from_.encoding == Encoding::text)
      field_.show = [](const Field&, std::span<const std::byte> value) -> Shown { return {shown_text(value)}; };
  }

  std::vector<Field> fields() const override { return {field_}; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    const Part& part = part_of(record, from_);
    // The outline of a recording tells frames, not bytes.
    if (from_.encoding == Encoding::audio && part.bytes.empty() && !part.shape.empty()) {
      extents[0] = unknown_extent;
      return;
    }
    extents[0] =
        std::min(part.shape.empty() ? static_cast<std::int64_t>(part.bytes.size()) : part.shape[0], field_.shape[0]);
  }

  void make(const Record& record, Stream, Row to) const override {
    const auto bytes = part_of(record, from_).bytes;
    const auto size = static_cast<std::int64_t>(bytes.size());
    if (size > field_.shape[0]) cut_.add();
    copy_padded(field_, bytes.data(), {&size, 1}, to[0], to.extents());
  }

 private:
  PartForm from_;
  Field field_;
  CountedWarning cut_;
};

}  // namespace

TransformEntry bytes_transform_entry() {
  return {.name = "bytes",
          .help = "the bytes of a text (UTF-8) or of a file: u8 (length), 0 to 255",
          .keys = {{.name = "max",
                    .kind = Kind::integer,
                    .fallback = std::int64_t{0},
                    .help = "greatest length; what is longer is cut",
                    .min = 1,
                    .max = 1e12,
                    .required = true},
                   {"fill", Kind::integer, std::int64_t{0}, "value of what is beyond a shorter one's end", 0, 255}},
          .make = [](const Settings& settings, const TransformInput& input) {
            return std::make_unique<BytesTransform>(settings, input);
          }};
}

}  // namespace flowtrain
