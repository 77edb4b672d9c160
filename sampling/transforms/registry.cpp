#include "sampling/core/text.h"
#include "sampling/transforms/entries.h"

namespace flowtrain {

Registry<Transform, TransformInput>& transforms() {
  static Registry<Transform, TransformInput> registry = [] {
    Registry<Transform, TransformInput> all("transform");
#define FLOWTRAIN_ENTRY(name) all.add(name##_transform_entry());
#include "sampling/transforms/list.h"
#undef FLOWTRAIN_ENTRY
    return all;
  }();
  return registry;
}

Field length_field_of(const Field& of) {
  std::vector<std::int64_t> shape;
  if (of.free_axes > 1) shape = {static_cast<std::int64_t>(of.free_axes)};
  return {of.name + "_length", DType::i64, std::move(shape)};
}

const Part& part_of(const Record& record, const PartForm& form) {
  const Part* const part = record.part(form.name);
  if (!part) throw SampleError(concat("it has no part '", form.name, "'"));
  return *part;
}

UserError wrong_part(const Settings& settings, const PartForm& from, const std::string& expected,
                     const std::string& hint) {
  return settings.error("from",
                        concat("the part '", from.name, "' is of ", name_of(from.encoding), ", but '",
                               settings.text("as"), "' takes ", expected),
                        ExitCode::usage, hint);
}

}  // namespace flowtrain
