// The check `fields`.

#include <set>

#include "pipeline/tools/plugin_kit/checks/checks.h"
#include "sampling/core/text.h"
#include "sampling/field_text.h"

namespace flowtrain::plugin_kit {
namespace {

void check_field(const Field& field) {
  const auto wrong = [&](const auto&... parts) -> CheckFailure {
    return {concat("the field '", field.name, "' ", parts...), "declare each field as sampling/sampler.h says"};
  };
  if (field.name.empty()) throw wrong("has no name");
  constexpr std::int64_t most_bytes = std::int64_t{1} << 32;
  auto room = most_bytes / static_cast<std::int64_t>(size_of(field.dtype));
  for (const auto extent : field.shape) {
    if (extent <= 0) throw wrong("has an axis of size ", extent);
    room /= extent;
  }
  if (room == 0) throw wrong("is larger than ", most_bytes, " bytes");
  if (field.mean.size() != field.stddev.size()) throw wrong("has a mean without a stddev, or the other way round");
  if (field.free_axes > field.shape.size())
    throw wrong("has ", field.free_axes, " free axes, but ", field.shape.size(), " axes in all");
  const bool is_picture = field.dtype == DType::u8 && field.shape.size() == 3 && field.free_axes == 0;
  if (!field.mean.empty() && (!is_picture || field.shape[2] != static_cast<std::int64_t>(field.mean.size())))
    throw wrong("has a mean of ", field.mean.size(), " channels, but is no u8 picture of one size with as many");
}

bool same(const std::vector<Field>& one, const std::vector<Field>& other) {
  return join(one, ", ", describe_form) == join(other, ", ", describe_form);
}

}  // namespace

void check_fields(const Subject& subject, Report& report) {
  report.at("the sampler is made");
  std::unique_ptr<Sampler> sampler;
  try {
    sampler = subject.make_sampler();
  } catch (const UserError& error) {
    report.refuse(error.what());
    return;
  }
  const auto fields = sampler->fields();
  if (fields.empty()) throw CheckFailure{"the sampler declares no field", "return at least one field"};
  std::set<std::string> names;
  for (auto& field : fields) {
    check_field(field);
    if (!names.insert(field.name).second)
      throw CheckFailure{"two fields are called '" + field.name + "'", "give each field a name of its own"};
  }
  if (!same(fields, sampler->fields()) || !same(fields, subject.make_sampler()->fields()))
    throw CheckFailure{"the sampler declares other fields when it is asked again",
                       "let the fields depend only on the settings and the data set"};
  report.note(join(fields, ", ", describe_form));
}

}  // namespace flowtrain::plugin_kit
