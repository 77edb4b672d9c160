// The transform `array`: an array of the record, unchanged; axes whose extent differs between records are free.
#include <algorithm>
#include <cstring>
#include <utility>

#include "sampling/core/text.h"
#include "sampling/transforms/counted_warning.h"
#include "sampling/transforms/entries.h"
#include "sampling/transforms/padded.h"

namespace flowtrain {
namespace {

class ArrayTransform final : public Transform {
 public:
  ArrayTransform(const Settings& settings, const TransformInput& input)
      : from_(input.from),
        field_{input.name, from_.dtype, from_.shape},
        cuts_(settings.boolean("cut")),
        cut_(cut_warning(settings, concat("arrays of more than ", join(settings.integers("max"), " x ")),
                         "raise it, or set cut = false", "cut")) {
    if (from_.encoding != Encoding::array) throw wrong_part(settings, from_, "an array");
    const auto& bounds = settings.integers("max");
    for (const auto extent : from_.shape) field_.free_axes += extent < 0 ? 1 : 0;
    const auto fixed = std::ranges::find_if(from_.shape, [](auto extent) { return extent >= 0; });
    if (static_cast<std::size_t>(fixed - from_.shape.begin()) != field_.free_axes)
      throw settings.error("from", concat("the part '", from_.name, "' has the shape (", join(from_.shape),
                                          "), in which -1 differs between records; only leading axes may"));
    if (bounds.size() < field_.free_axes || bounds.size() > from_.shape.size())
      throw settings.error("max",
                           concat("has ", bounds.size(), " numbers, but ", field_.free_axes, " of the ",
                                  from_.shape.size(), " axes of the part '", from_.name, "' differ between records"),
                           ExitCode::usage,
                           "give the greatest extent of each of these axes; leading axes that are equal in these "
                           "records may have one, too");
    field_.free_axes = static_cast<std::uint32_t>(bounds.size());  // They may differ in other data of the run.
    std::ranges::copy(bounds, field_.shape.begin());
    field_.fill = settings.real("fill");
  }

  std::vector<Field> fields() const override { return {field_}; }

  void measure(const Record& record, std::span<std::int64_t> extents) const override {
    const auto& shape = checked(part_of(record, from_)).shape;
    for (std::size_t axis = 0; axis < extents.size(); ++axis) extents[axis] = std::min(shape[axis], field_.shape[axis]);
  }

  void make(const Record& record, Stream, Row to) const override {
    const Part& part = checked(part_of(record, from_));
    if (is_longer(part)) cut_.add();
    copy_padded(field_, part.bytes.data(), part.shape, to[0], to.extents());
  }

 private:
  bool is_longer(const Part& part) const {
    for (std::size_t axis = 0; axis < field_.free_axes; ++axis)
      if (part.shape[axis] > field_.shape[axis]) return true;
    return false;
  }

  const Part& checked(const Part& part) const {
    bool fits = part.shape.size() == field_.shape.size() && part.dtype == field_.dtype;
    for (std::size_t axis = 0; fits && axis < field_.shape.size(); ++axis)
      fits = axis < field_.free_axes ? cuts_ || part.shape[axis] <= field_.shape[axis]
                                     : part.shape[axis] == field_.shape[axis];
    if (!fits)
      throw SampleError(concat("the part '", part.name, "' has the shape (", join(part.shape), "), but the field has (",
                               join(field_.shape), ")"));
    return part;
  }

  PartForm from_;
  Field field_;
  bool cuts_;
  CountedWarning cut_;
};

}  // namespace

TransformEntry array_transform_entry() {
  return {
      .name = "array",
      .help = "an array of the record, unchanged",
      .keys = {{"max", Kind::integers, std::vector<std::int64_t>{},
                "greatest extents of the axes that differ between records; each batch is as long as its longest", 1,
                1e12},
               {"fill", Kind::real, 0.0, "value of what is beyond a shorter array's own extent", -1e300, 1e300},
               {"cut", Kind::boolean, true, "cut arrays that are longer than max; false: such a record is damaged"}},
      .make = [](const Settings& settings, const TransformInput& input) {
        return std::make_unique<ArrayTransform>(settings, input);
      }};
}

}  // namespace flowtrain
