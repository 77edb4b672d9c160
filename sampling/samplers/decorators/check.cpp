// The decorator `check`: makes rows twice, between guard bytes, and refuses forbidden writes of a sampler.
#include <cstring>
#include <optional>
#include <set>

#include "sampling/core/registry.h"
#include "sampling/field_text.h"
#include "sampling/samplers/decorators/decorator.h"
#include "sampling/samplers/decorators/guarded_row.h"
#include "sampling/samplers/entries.h"

namespace flowtrain {
namespace {

constexpr std::uint64_t check_draw = 2;
constexpr std::byte first_fill{0xA5}, second_fill{0x5A};
constexpr std::size_t most_fields = 32;

/// Returns whether an element was not written: its two rows differ, and each still has its fill.
bool is_unwritten(const Field& field, const std::byte* first, const std::byte* second, std::size_t element) {
  const std::size_t begin = element * size_of(field.dtype), end = begin + size_of(field.dtype);
  for (std::size_t byte = begin; byte < end; ++byte)
    if (first[byte] == first_fill && second[byte] == second_fill) return true;
  return false;
}

class CheckSampler final : public Decorator {
 public:
  CheckSampler(std::unique_ptr<Sampler> made, std::string name, std::int64_t every)
      : Decorator(std::move(made)),
        name_(std::move(name)),
        share_(1.0 / static_cast<double>(every)),
        fields_(inner().fields()) {
    check_fields();
  }

  std::vector<Field> fields() const override { return fields_; }

  void sample(const Record& record, Stream& random, Row row) const override {
    if (draw_for_row(random, record.id, check_draw) >= share_) return inner().sample(record, random, row);
    thread_local GuardedRow first, second;
    Stream again = random;
    const auto failed = make(record, random, row.extents(), first, first_fill);
    const auto failed_again = make(record, again, row.extents(), second, second_fill);
    if (failed != failed_again)
      throw violation(record, concat("the same seed gave ", failed ? "an error (" + *failed + ")" : "a row", ", then ",
                                     failed_again ? "an error (" + *failed_again + ")" : "a row"));
    if (failed) throw SampleError(*failed);
    for (std::size_t i = 0; i < fields_.size(); ++i) {
      compare(record, stored_shape(fields_[i], extents_of(fields_, i, row.extents())), first.field(i), second.field(i));
      std::memcpy(row[i], first.field(i), first.bytes(i));
    }
  }

 private:
  /// Returns the sampler's reason for refusing a record; nothing if it made a row.
  std::optional<std::string> make(const Record& record, Stream& random, std::span<const std::int64_t> extents,
                                  GuardedRow& into, std::byte fill) const {
    into.prepare(fields_, extents, fill);
    std::optional<std::string> failed;
    try {
      inner().sample(record, random, into.row());
    } catch (const SampleError& error) {
      failed = error.what();
    }
    if (const auto damage = into.damage(fields_); !damage.empty())
      throw violation(record, "it wrote outside of its row: " + damage);
    return failed;
  }

  void compare(const Record& record, const Field& field, const std::byte* first, const std::byte* second) const {
    const std::size_t element = first_difference(field, first, second);
    if (element == SIZE_MAX) return;
    const std::string where = concat("field '", field.name, "'", element_place(field, element));
    if (is_unwritten(field, first, second, element))
      throw violation(record, where + " was not written; it must write all of " + describe_field(field));
    throw violation(record, concat(where, " is ", element_value(field, first, element), ", and ",
                                   element_value(field, second, element), " when made again with the same seed"));
  }

  UserError violation(const Record& record, const std::string& what) const {
    return UserError(ExitCode::data, concat("check: sampler '", name_, "', record ", record.id, ": ", what),
                     "correct the sampler; sampler.name = \"" + name_ + "\" runs it without the check");
  }

  UserError wrong_fields(const std::string& what) const {
    return UserError(ExitCode::data, concat("check: sampler '", name_, "': ", what), "correct its fields()");
  }

  void check_fields() const {
    if (fields_.empty() || fields_.size() > most_fields)
      throw wrong_fields(concat("it states ", fields_.size(), " fields, expected 1 to ", most_fields));
    std::set<std::string> names;
    for (auto& field : fields_) {
      if (field.name.empty() || !names.insert(field.name).second)
        throw wrong_fields("two fields have the name '" + field.name + "', or one has none");
      for (const auto extent : field.shape)
        if (extent <= 0) throw wrong_fields(concat("field '", field.name, "' has an axis of size ", extent));
      if (field.mean.size() != field.stddev.size())
        throw wrong_fields("field '" + field.name + "' has different numbers of mean and stddev values");
    }
    if (describe_fields(inner().fields()) != describe_fields(fields_))
      throw wrong_fields("it states other fields when asked again");
  }

  std::string name_;
  double share_;  ///< share of the samples that are checked
  std::vector<Field> fields_;
};

}  // namespace

SamplerEntry check_entry() {
  return {.name = "check",
          .help =
              "decorator that refuses a sampler that writes outside of its row, leaves a part unwritten, or makes "
              "other bytes with the same seed",
          .keys = {inner_key(),
                   {"check_every", Kind::integer, std::int64_t{1},
                    "check every sample (1), or one in N on average, the same ones on every run", 1, 1e12}},
          .make = [](const Settings& settings, const SamplerInput& input) {
            return std::make_unique<CheckSampler>(make_inner("check", settings, input), decorated_sampler(settings),
                                                  settings.integer("check_every"));
          }};
}

}  // namespace flowtrain
