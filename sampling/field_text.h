#pragma once
// Names of fields, and descriptions of fields and their values in messages.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sampling/sampler.h"

namespace flowtrain {

/// Returns whether a field of this name has the pictures that nets read: "image", or "labelled.image" of a group of
/// rows.
bool is_image_name(std::string_view name);

/// Returns "image u8 28x28x1", "label i64", "tokens i32 ≤512" for a free axis.
std::string describe_form(const Field& field);
/// Returns describe_form() and how the field is normalised: "image u8 28x28x1 mean [0.5] stddev [0.5]".
std::string describe_field(const Field& field);
/// Returns "image u8 28x28x1, label i64".
std::string describe_fields(const std::vector<Field>& fields);

/// Returns the first element of a row's field in which `a` and `b`, of field.row_bytes() each, differ; else SIZE_MAX.
std::size_t first_difference(const Field& field, const std::byte* a, const std::byte* b);
/// Returns the place of an element: "[3, 5, 0]"; "" for a scalar.
std::string element_place(const Field& field, std::size_t element);
/// Returns the value of an element of a row that begins at `row`: "17", "0.25".
std::string element_value(const Field& field, const std::byte* row, std::size_t element);

}  // namespace flowtrain
