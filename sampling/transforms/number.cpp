// The transform `number`: a number of the record, as it is or standardised.
#include <cmath>
#include <cstring>
#include <utility>

#include "sampling/core/parse.h"
#include "sampling/core/text.h"
#include "sampling/samplers/keys.h"
#include "sampling/shown.h"
#include "sampling/transforms/entries.h"

namespace flowtrain {
namespace {

template <class T>
T read_as(const Part& part) {
  if (part.bytes.size() != sizeof(T)) throw SampleError(concat("the part '", part.name, "' is no number"));
  T value;
  std::memcpy(&value, part.bytes.data(), sizeof value);
  return value;
}

double number_in(const Part& part) {
  if (part.encoding == Encoding::text) {
    const std::string text(reinterpret_cast<const char*>(part.bytes.data()), part.bytes.size());
    if (const auto number = parse_number<double>(trimmed(text))) return *number;
    throw SampleError(concat("the part '", part.name, "' is no number: '", text, "'"));
  }
  switch (part.dtype) {
    case DType::u8: return read_as<std::uint8_t>(part);
    case DType::i32: return read_as<std::int32_t>(part);
    case DType::i64: return static_cast<double>(read_as<std::int64_t>(part));
    case DType::f32: return read_as<float>(part);
  }
  throw InternalError("a part has no type");
}

class NumberTransform final : public Transform {
 public:
  NumberTransform(const Settings& settings, const TransformInput& input)
      : name_(input.name),
        from_(input.from),
        mean_(settings.real("mean")),
        stddev_(settings.real("stddev")),
        whole_(settings.text("dtype") == "i64") {
    const bool is_number =
        from_.encoding == Encoding::text || (from_.encoding == Encoding::array && from_.shape.empty());
    if (!is_number) throw wrong_part(settings, from_, "a number, or a text that is one");
    if (whole_ && (settings.given("mean") || settings.given("stddev")))
      throw settings.error("dtype", "a whole number is not standardised: leave out mean and stddev, or dtype");
  }

  std::vector<Field> fields() const override {
    Field field{name_, whole_ ? DType::i64 : DType::f32, {}};
    if (!whole_) field.show = [*this](const Field&, std::span<const std::byte> value) { return shown(value); };
    return {field};
  }

  void make(const Record& record, Stream, Row to) const override {
    const Part& part = part_of(record, from_);
    if (whole_ && part.encoding == Encoding::array && part.dtype == DType::i64) {
      const auto value = read_as<std::int64_t>(part);  // a double would round large ones
      std::memcpy(to[0], &value, sizeof value);
      return;
    }
    const double number = number_in(part);
    if (whole_) {
      const bool is_rounded =
          part.encoding == Encoding::array && part.dtype == DType::f32 && std::abs(number) >= 0x1p24;
      if (is_rounded)
        throw SampleError(concat("the part '", part.name, "' holds ", number,
                                 ", whose last digits may be lost, as its numbers are stored as f32"));
      if (number != std::floor(number) || std::abs(number) > 9007199254740992.0)  // 2^53
        throw SampleError(concat("the part '", part.name, "' is no whole number: ", number));
      const auto value = static_cast<std::int64_t>(number);
      std::memcpy(to[0], &value, sizeof value);
      return;
    }
    const auto value = static_cast<float>((number - mean_) / stddev_);
    if (!std::isfinite(value)) throw SampleError(concat("the part '", part.name, "' is no finite number: ", number));
    std::memcpy(to[0], &value, sizeof value);
  }

 private:
  /// Shows the number as the part has it.
  Shown shown(std::span<const std::byte> value) const {
    float number = 0;
    std::memcpy(&number, value.data(), sizeof number);
    return {concat(number * stddev_ + mean_, from_.name == name_ ? "" : concat(" (", shown_text(from_.name), ")"))};
  }

  std::string name_;
  PartForm from_;
  double mean_, stddev_;
  bool whole_;
};

}  // namespace

TransformEntry number_transform_entry() {
  return {
      .name = "number",
      .help = "a number of the record: f32, or i64",
      .keys = {{"mean", Kind::real, 0.0, "value that becomes 0: the result is (number - mean) / stddev", -1e300, 1e300},
               {"stddev", Kind::real, 1.0, "distance from mean that becomes 1", 1e-300, 1e300},
               choice_key("dtype", "f32", "type of the field: f32, or i64 for whole numbers", {"f32", "i64"})},
      .make = [](const Settings& settings, const TransformInput& input) {
        return std::make_unique<NumberTransform>(settings, input);
      }};
}

}  // namespace flowtrain
