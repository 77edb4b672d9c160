#include "nets/package/checks.h"

#include <ATen/Dispatch.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <string_view>

#include "sampling/core/mistake.h"
#include "sampling/core/text.h"

namespace flowtrain::nets {

namespace {

std::string shape_of(const std::vector<std::int64_t>& shape) {
  std::vector<std::string> sizes;
  sizes.reserve(shape.size());
  for (const auto size : shape) sizes.push_back(size < 0 ? "any" : std::to_string(size));
  return "[" + join(sizes) + "]";
}

// Builds such as "2.11.0+cpu" and "2.11.0" have the same interfaces.
std::string_view release(std::string_view version) { return version.substr(0, version.find('+')); }

// Each set contains all those before it. A GPU runs code of its own version alone: from 9.0 on Triton compiles for
// features that the next version need not have (sm_90a).
bool runs_on(const std::string& needed, const std::string& machine) {
  constexpr std::array<std::string_view, 3> x86{"DEFAULT", "AVX2", "AVX512"};
  const auto* const wanted = std::ranges::find(x86, needed);
  const auto* const there = std::ranges::find(x86, machine);
  return wanted == x86.end() || there == x86.end() ? needed == machine : wanted <= there;
}

bool fits(const std::vector<std::int64_t>& wanted, const std::vector<std::int64_t>& shape) {
  return std::ranges::equal(wanted, shape, [](auto size, auto is) { return size < 0 || size == is; });
}

struct OtherValue {
  std::int64_t place, value;
};

/// Finds the first number of a tensor without gaps that is not among `values`.
std::optional<OtherValue> first_other(const at::Tensor& tensor, const PackageInput::Values& values) {
  return AT_DISPATCH_INTEGRAL_TYPES(tensor.scalar_type(), "first_other", [&]() -> std::optional<OtherValue> {
    const scalar_t* const begin = tensor.const_data_ptr<scalar_t>();
    const scalar_t* const end = begin + tensor.numel();
    const scalar_t* const found = std::find_if(begin, end, [&](scalar_t value) {
      return (value < values.least || value >= values.end) && value != values.ignored;
    });
    if (found == end) return {};
    return OtherValue{found - begin, std::int64_t{*found}};
  });
}

/// Returns the part as a tensor without gaps.
at::Tensor part_of(at::Tensor field, const std::vector<PackageInput::Cut>& part) {
  for (const auto& [dimension, begin, end] : part) {
    const std::int64_t size = field.size(dimension), first = std::min(begin, size);
    field = field.narrow(dimension, first, std::max<std::int64_t>((end > 0 ? end : size + end) - first, 0));
  }
  return field.contiguous();
}

/// Checks the axes that the batch, or the graph, has free.
void check_free_axes(const PackageInput& input, const BatchField& found, const PackageArchive& archive) {
  const std::string& name = input.field.name;
  for (std::size_t axis = 1; axis < found.shape.size(); ++axis) {
    const std::int64_t extent = std::abs(found.shape[axis]);
    const auto free = std::ranges::find(input.free, axis, &PackageInput::FreeAxis::axis);
    const auto refuse = [&](const std::string& takes, const std::string& way_out) {
      throw Mistake(archive
                        .error(concat("'", name, "' of the batch has ", found.shape[axis] < 0 ? "up to " : "", extent,
                                      " along axis ", axis, ", but the graph takes ", takes))
                        .what(),
                    concat(way_out, "export the package in Python: flowtrain.export(…, free={\"", name, "\": {", axis,
                           ": ", extent, "}})"));
    };
    if (free == input.free.end()) {
      if (found.shape[axis] < 0) refuse(concat(input.field.shape[axis], " alone"), "");
    } else if (extent > free->most) {
      refuse(concat(free->least, " to ", free->most), concat("lower the field's bound to ", free->most, ", or "));
    } else if (extent < free->least) {
      refuse(concat(free->least, " to ", free->most), "let the loss pad what it gets, and ");
    }
  }
}

/// Checks that axes with one extent have it, where the batch's are known.
void check_same_extents(const PackageDescription& description, const std::vector<BatchField>& batch,
                        const PackageArchive& archive) {
  struct Known {
    const BatchField* field;
    std::size_t axis;
  };
  std::map<std::size_t, Known> known;  // by number
  for (const PackageInput& input : description.inputs) {
    const BatchField& field = *std::ranges::find(batch, input.field.name, &BatchField::name);
    for (const auto& free : input.free) {
      if (field.shape[free.axis] < 0) continue;
      const auto& [other, axis] = known.try_emplace(free.extent, Known{&field, free.axis}).first->second;
      if (other->shape[axis] != field.shape[free.axis])
        throw Mistake(archive
                          .error(concat("'", field.name, "' of the batch has ", field.shape[free.axis], " along axis ",
                                        free.axis, ", and '", other->name, "' ", other->shape[axis], " along axis ",
                                        axis, ", but the graph takes them to be as long as each other"))
                          .what(),
                      "give both fields the same part and bound, or a loss that does not combine them");
    }
  }
}

void check_machine(const PackageDescription& description, const std::string& capability,
                   const PackageArchive& archive) {
  if (runs_on(description.instruction_set, capability)) return;
  throw Mistake(archive
                    .error(concat("its code needs a ", description.device == "cpu" ? "CPU" : "GPU", " with ",
                                  description.instruction_set, ", but this one has ", capability))
                    .what(),
                make_anew(description));
}

void check_rows(const PackageDescription& description, const NetUse& use, const PackageArchive& archive) {
  if (rows_of(description) == 0 || !use.short_batches) return;
  throw Mistake(
      archive
          .error(concat("its graphs take batches of exactly ", rows_of(description),
                        " rows, but the last batch of an epoch, of a validation or of a process has "
                        "fewer"))
          .what(),
      "set loader.last_batch = \"wrap\", a validation set of whole batches, and a batch size that the processes "
      "divide evenly; or export the package with dynamic_batch=True, for any number of rows");
}

void check_classes(const PackageDescription& description, const NetUse& use, const PackageArchive& archive) {
  for (const PackageInput& input : description.inputs)
    for (const PackageInput::Values& values : input.values)
      if ((input.field.name == "label" || input.field.name == "labels") && use.classes > values.end)
        throw Mistake(
            archive.error(concat("its net has ", values.end, " classes, but the data set has ", use.classes)).what(),
            concat("export the net with ", use.classes, " classes"));
}

/// Refuses an input that has not as many rows as the first one that it must agree with.
void check_equal_rows(const PackageDescription& description, const PackageInput& input,
                      const std::vector<BatchField>& batch, const std::vector<std::int64_t>& shape,
                      const PackageArchive& archive) {
  const PackageInput& first = *std::ranges::find(description.inputs, input.rows, &PackageInput::rows);
  const auto other = std::ranges::find(batch, first.field.name, &BatchField::name);
  if (shape.empty() || other->shape.empty() || shape.front() == other->shape.front()) return;
  throw archive.error(concat("'", input.field.name, "' of the batch has ", shape.front(), " rows, and '",
                             first.field.name, "' has ", other->shape.front(),
                             ", but the graph takes equal numbers, as the example of its export had"));
}

/// Refuses a graph that takes fields which training has and validation has not.
void check_validation(const PackageDescription& description, const NetUse& use, const PackageArchive& archive) {
  for (const PackageInput& input : description.inputs)
    if (std::ranges::find(use.fields, input.field.name, &BatchField::name) != use.fields.end() &&
        std::ranges::find(use.val_fields, input.field.name, &BatchField::name) == use.val_fields.end())
      throw Mistake(
          archive
              .error(concat("its graphs take '", input.field.name,
                            "', which batches of validation have not: ", join(use.val_fields, ", ", &BatchField::name)))
              .what(),
          "set val.every = 0: validation has the fields of one [[data.source]] (val.source)");
  check_inputs(description, use.val_fields, archive);
}

void check_precision(const PackageDescription& description, const NetUse& use, const PackageArchive& archive) {
  if (use.amp != description.amp)
    throw archive.error(concat("its graph computes with amp \"", description.amp, "\", but train.amp is \"", use.amp,
                               "\": set train.amp = \"", description.amp, "\""));
  if (!use.val_amp.empty() && use.val_amp != description.amp)
    throw archive.error(concat("its graphs compute with amp \"", description.amp, "\", but val.amp is \"", use.val_amp,
                               "\": remove val.amp"));
}

}  // namespace

void check_version(const PackageDescription& description, const PackageArchive& archive) {
  if (release(description.torch) != release(TORCH_VERSION))
    throw Mistake(
        archive.error(concat("it was compiled by torch ", description.torch, ", but this is LibTorch ", TORCH_VERSION))
            .what(),
        make_anew(description));
}

void check_inputs(const PackageDescription& description, const std::vector<BatchField>& batch,
                  const PackageArchive& archive) {
  for (const PackageInput& input : description.inputs) {
    const std::string &name = input.field.name, &dtype = input.field.dtype;
    const std::vector<std::int64_t>& shape = input.field.shape;
    const auto found = std::ranges::find(batch, name, &BatchField::name);
    if (found == batch.end())
      throw archive.error(concat("the batch has no '", name,
                                 "', which the graph takes; it has: ", join(batch, ", ", &BatchField::name)));
    if (found->dtype != dtype)
      throw archive.error(concat("'", name, "' of the batch is ", found->dtype, ", but the graph takes ", dtype));
    if (found->shape.size() == shape.size()) check_free_axes(input, *found, archive);
    if (!fits(shape, found->shape))
      throw archive.error(concat("'", name, "' of the batch has shape ", shape_of(found->shape),
                                 ", but the graph takes ", shape_of(shape)));
    check_equal_rows(description, input, batch, found->shape, archive);
  }
  check_same_extents(description, batch, archive);
}

void check_values(const PackageDescription& description, const NamedTensors& batch, const PackageArchive& archive) {
  for (const PackageInput& input : description.inputs) {
    const at::Tensor& field = batch.at(input.field.name);
    if (!field.is_cpu()) continue;
    for (const PackageInput::Values& values : input.values) {
      const at::Tensor part = part_of(field, values.part);
      const auto wrong = first_other(part, values);
      if (!wrong) continue;
      throw archive.error(concat("'", input.field.name, "' of row ", wrong->place / (part.numel() / part.size(0)),
                                 " of the batch has the value ", wrong->value, ", but the graph takes ", values.least,
                                 " to ", values.end - 1, values.ignored ? concat(", or ", *values.ignored) : ""));
    }
  }
}

std::int64_t rows_of(const PackageDescription& description) {
  return std::max<std::int64_t>(description.inputs.front().field.shape.front(), 0);
}

void check_use(const PackageDescription& description, const NetUse& use, const PackageArchive& archive) {
  if (!use.capability.empty()) check_machine(description, use.capability, archive);
  check_inputs(description, use.fields, archive);
  if (!use.val_fields.empty()) check_validation(description, use, archive);
  check_rows(description, use, archive);
  check_classes(description, use, archive);
  if (use.mixes_labels)
    throw archive.error(
        "the loss in its graph takes one label per row, but [batch_augment] mixes labels: remove mixup and cutmix");
  check_precision(description, use, archive);
}

}  // namespace flowtrain::nets
